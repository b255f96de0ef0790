/* Conversion of JSON Schema to the types of tool declarations. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "label/tool.h"

#include <jansson.h>

/* An allocator whose objects are all freed together. */
struct tool_shelf {
	struct tool_piece *pieces;
};
void *shelf_take(struct tool_shelf *shelf, size_t bytes);
const char *shelf_text(struct tool_shelf *shelf, const char *text);
void shelf_done(struct tool_shelf *shelf);

/*
 * Convert a schema to a type; NULL allows any value. Supported keywords: type, enum, const, items,
 * properties, required, format (date, date-time: a date; others: a name in that format) and
 * x-handle (the name of an existing object). Other keywords are ignored. @where: the place for
 * messages.
 *
 * Returns: 0, or -EINVAL, -ENOMEM.
 */
int schema_type(struct tool_shelf *shelf, const json_t *schema, const char *where,
	const struct tool_type **out, struct err *err);

/* Check @value against @type. Returns: 0, or -EINVAL with the place of the mismatch. */
int schema_check(
	const struct tool_type *type, const json_t *value, const char *where, struct err *err);
