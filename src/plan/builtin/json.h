/* JSON, for the arguments and results of tools and for the module `json` of the language.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"
#include "plan/value/str.h"

/*
 * Read a JSON text. Ints may have any size, objects become dicts, and the last of duplicate names
 * is used.
 *
 * Limits:  memory, fuel and depth of @h.
 * Source:  RFC 8259; a lone surrogate and invalid UTF-8 are errors.
 * Returns: 0; -1 with the failure of @h set, whose message names the offset.
 */
int json_read(struct heap *h, const char *data, size_t bytes, struct val *out);

/* The style of JSON output: separators, order of names, escapes, indentation. JSON_CANONICAL is the
 * shortest style, with sorted names. */
struct json_style {
	const char *comma, *colon;
	bool is_sorted, is_ascii;
	int64_t indent; /* spaces per level of nesting; -1 to write all on one line */
};
#define JSON_CANONICAL ((struct json_style){",", ":", true, false, -1})

/* Write a value that consists of None, bools, numbers, texts, lists, tuples, dicts and structs.
 * Returns: 0 or -1. */
int json_write(struct text *t, struct val v, const struct json_style *style);

/* Write a string with its quotes. Returns: 0 or -1. */
int json_write_text(struct text *t, const struct str *s, bool is_ascii);
