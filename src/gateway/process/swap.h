/* Placeholders in requests become values, and values in answers are blotted out. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* A placeholder and its value, borrowed. */
struct swap {
	const char *placeholder, *value;
};

/* How a value is written in its place. */
enum swap_form {
	SWAP_RAW,  /* as it is */
	SWAP_URL,  /* percent-encoded, as in a query and in a form's body */
	SWAP_JSON, /* as in a string of JSON */
};

/* Return whether one of the @n placeholders is in @text. */
bool swap_is_in(const struct swap *all, size_t n, const char *text, size_t bytes);

/* Append @text to @out, with each placeholder replaced by its value. Returns: whether there was
 * one. Running out of room shows in buf_error(). */
bool swap_text(const struct swap *all, size_t n, enum swap_form form, const char *text,
	size_t bytes, struct buf *out);

/* The same for the value of a header. In "Basic BASE64", the text inside the base64 is changed
 * too. */
bool swap_header(const struct swap *all, size_t n, const char *value, struct buf *out);

/* Return the form of values in a body of the content type @type, NULL if it has none. */
enum swap_form swap_form_of(const char *type);

/*
 * Blotting out. Each needle that appears in a stream is replaced by as many "*", so that lengths
 * stay true. The end of a piece is held back only if a needle may begin there. In what follows,
 * NULL stands for one without needles, except where one is added.
 */
struct blot;

enum { BLOT_NEEDLES_MAX = 192, BLOT_NEEDLE_MAX = 32 << 10 };

/* Make one without needles. Owns: the caller frees it with blot_free(), which wipes the needles. */
struct blot *blot_new(void);
void blot_free(struct blot *b);
/* Add a needle; one that is shorter than 8 bytes, too long, there already, or too many, is not
 * added. blot_add_value() adds the forms in which a server may show a value: as it is,
 * percent-encoded, in JSON, in base64 with any text before it. */
void blot_add(struct blot *b, const char *needle, size_t bytes);
void blot_add_value(struct blot *b, const char *value);
bool blot_is_empty(const struct blot *b);
/* Return whether something is held back. */
bool blot_is_holding(const struct blot *b);
/* Append to @out what of the stream is decided after @data. @is_last: the stream ends with @data,
 * so all is decided, and the next call begins another stream. There must be room for what was held
 * back and @data together; running out of it shows in buf_error(), and @data is not taken then. */
void blot_feed(struct blot *b, const char *data, size_t bytes, bool is_last, struct buf *out);
/* The same for a text that is whole. */
void blot_text(const struct blot *b, const char *text, size_t bytes, struct buf *out);
