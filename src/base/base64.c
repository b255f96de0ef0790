/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <errno.h>
#include <sodium.h>

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

int base64_read(struct buf *out, const char *text, size_t bytes, struct err *err)
{
	size_t n = 0, max = bytes / 4 * 3 + 3;
	/* libsodium 1.0.18 decodes every byte from 0x80 on as a '+', so refuse these bytes here. */
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)text[i] >= 0x80)
			return err_fail(
				err, ERR_USAGE, FORM_HINT, "byte %zu is not a base64 character", i);
	if (out->bytes + max > out->max_bytes)
		return err_set(err, ERR_LIMIT, "%zu bytes of base64, limit %zu bytes", bytes,
			out->max_bytes);
	char *at = buf_reserve(out, max);
	if (!at)
		return err_set(err, ERR_NO_MEMORY, "no memory for %zu bytes", max);
	if (sodium_base642bin((unsigned char *)at, max, text, bytes, NULL, &n, NULL,
		    sodium_base64_VARIANT_ORIGINAL) != 0)
		return err_fail(err, ERR_USAGE, FORM_HINT, "%zu bytes that are not base64", bytes);
	buf_grown(out, n);
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
