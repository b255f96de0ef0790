/* The declaration of a tool: its name, its parameters, its result. Tool providers make
 * declarations; plans are checked against them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"

enum { TOOL_PARAMS_MAX = 64, TOOL_TYPE_DEPTH_MAX = 8, TOOL_NAME_MAX_BYTES = 200 };

enum tool_shape {
	TOOL_ANY,
	TOOL_NULL,
	TOOL_BOOL,
	TOOL_INT,
	TOOL_NUMBER,
	TOOL_STRING,
	TOOL_LIST,
	TOOL_DICT,
};

/* The type of a value, from its JSON Schema. `name` is the format of a KIND_NAME or the type of
 * a KIND_HANDLE, NULL: any; `kind.type` is not used. */
struct tool_type {
	enum tool_shape shape;
	struct kind kind;
	const char *name;
	const struct tool_type *item; /* TOOL_LIST: type of the elements; NULL: any */
	const struct tool_field *field;
	uint32_t n_fields; /* TOOL_DICT: number of fields */
};

struct tool_field {
	const char *name;
	const struct tool_type *type; /* NULL: any type */
	bool is_required;
};

/* The is_… hints are the tool's own annotations; a missing hint has the more dangerous value. */
struct tool {
	const char *name; /* name: words of letters, digits and _, joined by dots */
	const char *text; /* description for people and models, or NULL */
	const struct tool_field *param;
	uint32_t n_params;
	const struct tool_type *result; /* NULL: any type */
	bool is_read_only, is_destructive, is_open_world;
};

/* A set of tools. Invariant: sorted by name, see tool_sort(). */
struct tool_set {
	const struct tool *tool;
	size_t n;
};

/* Sort by name. Returns: 0, or -1: two tools have the same name. */
int tool_sort(struct tool *tool, size_t n);

/* Find the tool called @name. Returns: NULL when the set does not contain it. */
const struct tool *tool_find(const struct tool_set *set, const char *name);

/* Does a name of the set begin with @prefix and a dot? */
bool tool_is_prefix(const struct tool_set *set, const char *prefix);

/* Find the index of the parameter @name. Returns: -1 when the tool lacks it. */
int tool_param(const struct tool *tool, const char *name);
