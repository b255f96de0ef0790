/* SHA-256, and the names that it gives. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

enum { DIGEST_RAW_BYTES = 32, DIGEST_BYTES = 2 * DIGEST_RAW_BYTES + 1 };

struct digest_part {
	const void *data;
	size_t bytes;
};

/* @raw: of @bytes of @data, which may be NULL when there are none. */
void digest_raw(unsigned char raw[DIGEST_RAW_BYTES], const void *data, size_t bytes);

/* The same as lower-case hexadecimal. */
void digest_text(char out[DIGEST_BYTES], const void *data, size_t bytes);

/* Of @n parts that each stand behind their length (8 bytes, big-endian), so that no two lists of
 * parts have the same. */
void digest_parts(char out[DIGEST_BYTES], const struct digest_part *parts, size_t n);

/* Lower-case hexadecimal, and back from either case. Returns: 0; -EINVAL for anything but 64
 * digits. */
void digest_write(char out[DIGEST_BYTES], const unsigned char raw[DIGEST_RAW_BYTES]);
int digest_read(unsigned char raw[DIGEST_RAW_BYTES], const char *text);
