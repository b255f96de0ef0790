/* Seals: checksums over several parts. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_BYTES = 16, CHAIN_BYTES = 32 };

/* A BLAKE2b hash over a list of parts. Each part is preceded by its length, so that different lists
 * never hash the same bytes. */
struct seal {
	crypto_generichash_state state;
	size_t out_bytes;
};

/* Begin a checksum of @out_bytes bytes. @what is hashed first, so that seals of different kinds
 * differ. */
void seal_begin(struct seal *s, const char *what, size_t out_bytes);
void seal_bytes(struct seal *s, const void *data, size_t bytes);
void seal_text(struct seal *s, const char *text);
void seal_int(struct seal *s, int64_t n);
void seal_end(struct seal *s, unsigned char *out);
