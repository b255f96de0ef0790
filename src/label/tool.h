/* The declaration of a tool: its name, its parameters, its result. Tool providers make
 * declarations; plans are checked against them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"

enum { TOOL_PARAMS_MAX = 64, TOOL_TYPE_DEPTH_MAX = 8, TOOL_NAME_MAX_BYTES = 200 };
/* TOOL_HOST_MAX_BYTES: "*." and the longest name of a host, RFC 1035. */
enum { TOOL_HOSTS_MAX = 64, TOOL_HOST_MAX_BYTES = 255 };

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

/* The type of a value, converted from a JSON Schema. `name` is the format of a KIND_NAME or the
 * type of a KIND_HANDLE; NULL means any. The member `kind.type`, an atom, is not used: code that
 * needs it calls label_atom() with `name`. */
struct tool_type {
	enum tool_shape shape;
	struct kind kind;
	const char *name;
	const struct tool_type *item; /* TOOL_LIST: type of the elements; NULL for any */
	const struct tool_field *field;
	uint32_t n_fields; /* TOOL_DICT: number of fields */
};

struct tool_field {
	const char *name;
	const struct tool_type *type; /* declared type; NULL if it may be any type */
	bool is_required;
};

/* A tool. `host` are the hosts of networks whose data its results may contain, as the tool declares
 * them: "api.example", "*.example.org", "192.0.2.0/24", or "any" for unknown ones. The three hints
 * at the end come from the tool's own annotations. A missing hint has the more dangerous value,
 * such as is_read_only = false. */
struct tool {
	const char *name; /* words of letters, digits and _, joined by dots: "mail.send" */
	const char *text; /* description for people and models, or NULL */
	const struct tool_field *param;
	uint32_t n_params;
	/* Declared type of the result. NULL if it may be any type. */
	const struct tool_type *result;
	const char *const *host;
	uint32_t n_hosts;
	bool is_read_only, is_destructive, is_open_world;
};

/* A set of tools. The array is always sorted by name, see tool_sort(). */
struct tool_set {
	const struct tool *tool;
	size_t n;
};

/* Sort tools by name. Returns: 0; -1 if two tools have the same name. */
int tool_sort(struct tool *tool, size_t n);

/* Find the tool called @name. Returns: NULL if the set does not contain it. */
const struct tool *tool_find(const struct tool_set *set, const char *name);

/* Return whether the set contains a tool whose name begins with @prefix and a dot. */
bool tool_is_prefix(const struct tool_set *set, const char *prefix);

/* Return the index of the parameter @name. Returns: -1 if the tool has no such parameter. */
int tool_param(const struct tool *tool, const char *name);
