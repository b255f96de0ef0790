/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <errno.h>
#include <sodium.h>
#include <stdint.h>
#include <string.h>

_Static_assert(DIGEST_RAW_BYTES == crypto_hash_sha256_BYTES, "SHA-256");

void digest_raw(unsigned char raw[DIGEST_RAW_BYTES], const void *data, size_t bytes)
{
	crypto_hash_sha256(raw, bytes > 0 ? data : (const void *)"", bytes);
}

void digest_text(char out[DIGEST_BYTES], const void *data, size_t bytes)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	digest_raw(raw, data, bytes);
	digest_write(out, raw);
}

void digest_parts(char out[DIGEST_BYTES], const struct digest_part *parts, size_t n)
{
	unsigned char raw[DIGEST_RAW_BYTES], length[8];
	crypto_hash_sha256_state state;
	crypto_hash_sha256_init(&state);
	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < 8; k++)
			length[k] = (unsigned char)((uint64_t)parts[i].bytes >> (56 - 8 * k));
		crypto_hash_sha256_update(&state, length, sizeof length);
		if (parts[i].bytes > 0)
			crypto_hash_sha256_update(&state, parts[i].data, parts[i].bytes);
	}
	crypto_hash_sha256_final(&state, raw);
	digest_write(out, raw);
}

_Static_assert(sizeof(struct digest_state) >= sizeof(crypto_hash_sha256_state),
	"room for the library's state");

void digest_begin(struct digest_state *s)
{
	(void)crypto_hash_sha256_init((crypto_hash_sha256_state *)(void *)s);
}

void digest_add(struct digest_state *s, const void *data, size_t bytes)
{
	if (bytes > 0)
		(void)crypto_hash_sha256_update((crypto_hash_sha256_state *)(void *)s, data, bytes);
}

void digest_end(struct digest_state *s, char out[DIGEST_BYTES])
{
	unsigned char raw[DIGEST_RAW_BYTES];
	(void)crypto_hash_sha256_final((crypto_hash_sha256_state *)(void *)s, raw);
	digest_write(out, raw);
}

void digest_write(char out[DIGEST_BYTES], const unsigned char raw[DIGEST_RAW_BYTES])
{
	sodium_bin2hex(out, DIGEST_BYTES, raw, DIGEST_RAW_BYTES);
}

int digest_read(unsigned char raw[DIGEST_RAW_BYTES], const char *text)
{
	unsigned char read[DIGEST_RAW_BYTES];
	size_t n = 0, bytes = strlen(text);
	if (bytes != DIGEST_BYTES - 1 ||
		sodium_hex2bin(read, sizeof read, text, bytes, NULL, &n, NULL) != 0 ||
		n != sizeof read)
		return -EINVAL;
	memcpy(raw, read, sizeof read);
	return 0;
}
