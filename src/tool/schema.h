/* Conversion of a JSON Schema to a type of a tool declaration. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "label/tool.h"

#include <jansson.h>

/* An allocator. shelf_done() frees all of its objects at once. */
struct tool_shelf {
	struct tool_piece *pieces;
};
void *shelf_take(struct tool_shelf *shelf, size_t bytes);
const char *shelf_text(struct tool_shelf *shelf, const char *text);
void shelf_done(struct tool_shelf *shelf);

/*
 * Convert a schema to a type. *@out becomes NULL if the schema allows any value. @where is the name
 * of the schema in error messages. These keywords are used, all others are ignored:
 * - type, items, properties and required, as in JSON Schema.
 * - enum and const of a string: the value is one of the given texts.
 * - format of a string: if the format begins with "date", such as "date-time", the value is a date.
 * With any other format, the value is a text in this format, such as an e-mail address.
 * - x-handle of a string: the value is the name of an existing thing, such as a file. x-handle says
 * of which sort the thing is, and has priority over format.
 *
 * Returns: 0, -EINVAL or -ENOMEM.
 */
int schema_type(struct tool_shelf *shelf, const json_t *schema, const char *where,
	const struct tool_type **out, struct err *err);

/* Check @value against @type. Returns: 0; -EINVAL with the place of the mismatch in @err. */
int schema_check(
	const struct tool_type *type, const json_t *value, const char *where, struct err *err);
