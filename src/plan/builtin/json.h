/* JSON: arguments and results of tools, and the module `json` of the language.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"
#include "plan/value/str.h"

/*
 * Read a text: ints stay ints of any size, objects become dicts, of a name twice the last one
 * counts.
 *
 * Limits:  memory, fuel and depth of @h.
 * Source:  RFC 8259; a lone surrogate and invalid UTF-8 are errors.
 * Returns: 0, or -1 with the failure of @h set, which names the offset.
 */
int json_read(struct heap *h, const char *data, size_t bytes, struct val *out);

/* How it is written: as CPython does by default, or short with sorted names (canonical). */
struct json_style {
	const char *comma, *colon;
	bool is_sorted, is_ascii;
	int64_t indent; /* -1: all on one line */
};
#define JSON_CANONICAL ((struct json_style){",", ":", true, false, -1})

/* Write a value of None, bools, numbers, texts, lists, tuples, dicts and structs. Returns: 0 or -1.
 */
int json_write(struct text *t, struct val v, const struct json_style *style);

/* A string with its quotes. Returns: 0 or -1. */
int json_write_text(struct text *t, const struct str *s, bool is_ascii);
