/* JSON Schema as what is declared of tools. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "label/tool.h"

#include <jansson.h>

/* Storage that ends at once. */
struct tool_shelf {
	struct tool_piece *pieces;
};
void *shelf_take(struct tool_shelf *shelf, size_t bytes);
const char *shelf_text(struct tool_shelf *shelf, const char *text);
void shelf_done(struct tool_shelf *shelf);

/*
 * The type of a schema; NULL is anything. Known are type, enum, const, items, properties, required,
 * format (date, date-time: a date; others: a name of that form) and x-handle (names something that
 * exists). Whatever else a schema asks is not asked here. @where: for messages.
 *
 * Returns: 0, or -EINVAL, -ENOMEM.
 */
int schema_type(struct tool_shelf *shelf, const json_t *schema, const char *where,
	const struct tool_type **out, struct err *err);

/* Does @value fit? Returns: 0, or -EINVAL with what does not. */
int schema_check(
	const struct tool_type *type, const json_t *value, const char *where, struct err *err);
