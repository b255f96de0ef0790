/* Strings and bytes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* Limit of the length of a string; the memory limit usually comes first. */
enum { STR_MAX_BYTES = 1 << 30 };

/* Create a string or bytes with a copy of @data; for a string, @data must be valid UTF-8. Returns:
 * 0 or -1. */
int str_new(struct heap *h, const char *data, size_t bytes, struct val *out);
int str_of(struct heap *h, const char *text, struct val *out);
int bytes_new(struct heap *h, const void *data, size_t bytes, struct val *out);

/*
 * Create a string or bytes of @bytes. The caller must write the content to *data at once; for
 * T_STRING, str_filled() must then count the characters.
 */
int str_alloc(struct heap *h, uint32_t type, size_t bytes, char **data, struct val *out);
void str_filled(struct val v);

/* Create a part of @v, without a copy if it is long. The offsets are in bytes, at boundaries of
 * characters. */
int str_part(struct heap *h, struct val v, size_t from, size_t to, struct val *out);

/* Concatenate @a and @b, which have the same type. A chain of concatenations takes linear time. */
int str_concat(struct heap *h, struct val a, struct val b, struct val *out);
int str_repeat(struct heap *h, struct val s, int64_t n, struct val *out);

/* Return the offset in bytes of character @index, which is at most n_chars; for bytes, the index
 * itself. */
size_t str_offset(struct val v, size_t index);
bool str_equal(const struct str *a, const struct str *b);
uint64_t str_hash(struct heap *h, struct str *s);
bool str_is(struct val v, const char *text);

/* Find the first (str_rfind(): last) @part in @s within [from, to), which are offsets in bytes.
 * Returns: the offset; -1 if not found. */
int64_t str_find(const struct str *s, const struct str *part, size_t from, size_t to);
int64_t str_rfind(const struct str *s, const struct str *part, size_t from, size_t to);

/* A text under construction. The functions return 0, or -1 if the limit is exceeded. */
struct text {
	struct heap *h;
	char *data;
	size_t n, room;
};
int text_add(struct text *t, const char *data, size_t bytes);
int text_puts(struct text *t, const char *text);
int text_char(struct text *t, int32_t character);
int text_fill(struct text *t, const char *data, size_t bytes, int64_t times);

/* Convert the text to a value; the text is empty afterwards. */
int text_take(struct text *t, uint32_t type, struct val *out);
void text_done(struct text *t);

/* Return the code point of a string of one character. */
int32_t str_ord(struct val s);
