/* Strings and bytes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* The longest string, in bytes. The memory limit of the heap is usually reached before. */
enum { STR_MAX_BYTES = 1 << 30 };

/* Create a string (str_new(), str_of()) or bytes (bytes_new()) with a copy of the data. The data of
 * a string must be valid UTF-8. Returns: 0 or -1. */
int str_new(struct heap *h, const char *data, size_t bytes, struct val *out);
int str_of(struct heap *h, const char *text, struct val *out);
int bytes_new(struct heap *h, const void *data, size_t bytes, struct val *out);

/* Create a string or bytes of length @bytes. The caller must write the content to *data before any
 * other use. For T_STRING, the caller must then call str_filled(), which counts the characters. */
int str_alloc(struct heap *h, uint32_t type, size_t bytes, char **data, struct val *out);
void str_filled(struct val v);

/* Create the part of @v between two offsets in bytes, which must be at boundaries of characters. A
 * long part shares the memory of @v. */
int str_part(struct heap *h, struct val v, size_t from, size_t to, struct val *out);

/* Concatenate @a and @b, which have the same type. A chain of concatenations takes linear time. */
int str_concat(struct heap *h, struct val a, struct val b, struct val *out);
int str_repeat(struct heap *h, struct val s, int64_t n, struct val *out);

/* Return the offset in bytes of the character of @v at @index, which is 0 to n_chars. If @v is
 * bytes, the offset is @index itself. */
size_t str_offset(struct val v, size_t index);
bool str_equal(const struct str *a, const struct str *b);
uint64_t str_hash(struct heap *h, struct str *s);
bool str_is(struct val v, const char *text);

/* Find the first occurrence of @part in @s between the byte offsets @from and @to, or the last one
 * (str_rfind()). Returns: the offset; -1 if not found. */
int64_t str_find(const struct str *s, const struct str *part, size_t from, size_t to);
int64_t str_rfind(const struct str *s, const struct str *part, size_t from, size_t to);

/* A text under construction. The functions below append to it. They return 0, or -1 if memory or
 * fuel is used up. */
struct text {
	struct heap *h;
	char *data;
	size_t n, room;
};
int text_add(struct text *t, const char *data, size_t bytes);
int text_puts(struct text *t, const char *text);
int text_char(struct text *t, int32_t character);
int text_fill(struct text *t, const char *data, size_t bytes, int64_t times);

/* Convert the text to a value of @type (string or bytes), and empty the text. */
int text_take(struct text *t, uint32_t type, struct val *out);
void text_done(struct text *t);

/* Return the code point of a string of one character. */
int32_t str_ord(struct val s);
