/* SHA-256, raw and as text. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

enum { DIGEST_RAW_BYTES = 32, DIGEST_BYTES = 2 * DIGEST_RAW_BYTES + 1 };

struct digest_part {
	const void *data;
	size_t bytes;
};

/* Compute the SHA-256 digest of @bytes of @data; @data may be NULL when @bytes is 0. */
void digest_raw(unsigned char raw[DIGEST_RAW_BYTES], const void *data, size_t bytes);

/* Compute the digest of @data as lower-case hexadecimal. */
void digest_text(char out[DIGEST_BYTES], const void *data, size_t bytes);

/* Compute one digest of @n parts. Each part is preceded by its length (8 bytes, big-endian), so
 * that {"ab", "c"} and {"a", "bc"} have different digests. */
void digest_parts(char out[DIGEST_BYTES], const struct digest_part *parts, size_t n);

/* The digest of data that comes in pieces: digest_begin(), any number of digest_add(), and
 * digest_end(). */
struct digest_state {
	_Alignas(16) unsigned char bytes[112];
};
void digest_begin(struct digest_state *s);
void digest_add(struct digest_state *s, const void *data, size_t bytes);
void digest_end(struct digest_state *s, char out[DIGEST_BYTES]);

/*
 * digest_write() converts a digest to lower-case hexadecimal. digest_read() converts back, and
 * accepts upper case, too.
 * Returns: digest_read(): 0; -EINVAL if @text is not 64 hexadecimal digits.
 */
void digest_write(char out[DIGEST_BYTES], const unsigned char raw[DIGEST_RAW_BYTES]);
int digest_read(unsigned char raw[DIGEST_RAW_BYTES], const char *text);
