/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

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
