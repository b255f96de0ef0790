/* The declaration of a tool: its name, its parameters, its result. Providers of tools fill it in;
 * plans are checked against it. SPDX-License-Identifier: Apache-2.0 */
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

/* What a JSON Schema says about values. `name` is the type of a KIND_HANDLE or KIND_NAME, NULL:
 * any; `kind.type` is not used. */
struct tool_type {
	enum tool_shape shape;
	struct kind kind;
	const char *name;
	const struct tool_type *item; /* TOOL_LIST: of each element; NULL: anything */
	const struct tool_field *field;
	uint32_t n_fields; /* TOOL_DICT */
};

struct tool_field {
	const char *name;
	const struct tool_type *type; /* NULL: anything */
	bool is_required;
};

/* The hints (is_…) are the tool's own annotations; a missing one has the more dangerous value. */
struct tool {
	const char *name; /* words of letters, digits and _, joined by dots */
	const char *text; /* what it does, for people and models; may be NULL */
	const struct tool_field *param;
	uint32_t n_params;
	const struct tool_type *result; /* NULL: anything */
	bool is_read_only, is_destructive, is_open_world;
};

/* Invariant: sorted by name, see tool_sort(). */
struct tool_set {
	const struct tool *tool;
	size_t n;
};

/* Sort by name. Returns: 0, or -1: two tools have the same name. */
int tool_sort(struct tool *tool, size_t n);

/* The tool called @name. Returns: NULL: not in the set. */
const struct tool *tool_find(const struct tool_set *set, const char *name);

/* Does a name of the set begin with @prefix and a dot? */
bool tool_is_prefix(const struct tool_set *set, const char *prefix);

/* The index of the parameter @name. Returns: -1: the tool lacks it. */
int tool_param(const struct tool *tool, const char *name);
