/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

size_t base64_bytes(size_t bytes)
{
	return (bytes + 2) / 3 * 4;
}

void base64_encode(char *out, const void *data, size_t bytes)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = data;
	for (; bytes >= 3; bytes -= 3, at += 3) {
		*out++ = letters[at[0] >> 2];
		*out++ = letters[(at[0] & 3) << 4 | at[1] >> 4];
		*out++ = letters[(at[1] & 15) << 2 | at[2] >> 6];
		*out++ = letters[at[2] & 63];
	}
	if (bytes == 0)
		return;
	unsigned second = bytes == 2 ? at[1] : 0;
	*out++ = letters[at[0] >> 2];
	*out++ = letters[(at[0] & 3) << 4 | second >> 4];
	*out++ = bytes == 2 ? letters[(second & 15) << 2] : '=';
	*out = '=';
}

#define FORM_HINT "base64 has the characters A-Z a-z 0-9 + /, and = at the end: RFC 4648"

/* What a character stands for, plus one; 0: nothing. */
static const unsigned char values[256] = {
#define FOUR(c, n) [c] = (n) + 1, [(c) + 1] = (n) + 2, [(c) + 2] = (n) + 3, [(c) + 3] = (n) + 4
	FOUR('A', 0), FOUR('E', 4), FOUR('I', 8), FOUR('M', 12), FOUR('Q', 16),
	FOUR('U', 20), ['Y'] = 25, ['Z'] = 26, FOUR('a', 26), FOUR('e', 30), FOUR('i', 34),
	FOUR('m', 38), FOUR('q', 42), FOUR('u', 46), ['y'] = 51, ['z'] = 52, FOUR('0', 52),
	FOUR('4', 56), ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64
#undef FOUR
};

/* Decode four characters, of which the last @n_padding are '='. Returns: three bytes, or -1. */
static int32_t decode_four(const unsigned char *text, unsigned n_padding)
{
	uint32_t bits = 0;
	for (unsigned i = 0; i < 4; i++) {
		unsigned value = i < 4 - n_padding ? values[text[i]] : 1;
		if (value == 0)
			return -1;
		bits = bits << 6 | (value - 1);
	}
	/* The bits that no byte has must be 0, so that each text has one encoding. */
	return bits & ((1U << 8 * n_padding) - 1) ? -1 : (int32_t)bits;
}

/* libsodium's decoder is not used: it is made for secrets, and takes several times as long. */
static ssize_t decode(unsigned char *out, const unsigned char *text, size_t bytes)
{
	unsigned char *at = out;
	if (bytes % 4 != 0)
		return -1;
	for (; bytes > 0; bytes -= 4, text += 4) {
		unsigned n_padding =
			bytes > 4 ? 0 : (text[3] == '=') + (text[3] == '=' && text[2] == '=');
		int32_t bits = decode_four(text, n_padding);
		if (bits < 0)
			return -1;
		*at++ = (unsigned char)(bits >> 16);
		if (n_padding < 2)
			*at++ = (unsigned char)(bits >> 8);
		if (n_padding < 1)
			*at++ = (unsigned char)bits;
	}
	return at - out;
}

int base64_read(struct buf *out, const char *text, size_t bytes, struct err *err)
{
	size_t max = bytes / 4 * 3 + 3;
	if (out->bytes + max > out->max_bytes)
		return err_set(err, ERR_LIMIT, "%zu bytes of base64, limit %zu bytes", bytes,
			out->max_bytes);
	char *at = buf_reserve(out, max);
	if (!at)
		return err_set(err, ERR_NO_MEMORY, "no memory for %zu bytes", max);
	ssize_t n = decode((unsigned char *)at, (const unsigned char *)text, bytes);
	if (n < 0)
		return err_fail(err, ERR_USAGE, FORM_HINT, "%zu bytes that are not base64", bytes);
	buf_grown(out, (size_t)n);
	return 0;
}

int base64_write(struct buf *out, const void *data, size_t bytes)
{
	size_t max = base64_bytes(bytes);
	char *at = buf_reserve(out, max);
	if (!at) {
		buf_fail(out, out->bytes + max > out->max_bytes ? -E2BIG : -ENOMEM);
		return buf_error(out);
	}
	base64_encode(at, data, bytes);
	buf_grown(out, max);
	return 0;
}
