/* Checksums over what has many parts. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_BYTES = 16, CHAIN_BYTES = 32 };

/* BLAKE2b over parts that each stand behind their length, so that no two lists of parts are alike.
 */
struct seal {
	crypto_generichash_state state;
	size_t out_bytes;
};

/* @what keeps the checksums of different things apart; @out_bytes is how long it becomes. */
void seal_begin(struct seal *s, const char *what, size_t out_bytes);
void seal_bytes(struct seal *s, const void *data, size_t bytes);
void seal_text(struct seal *s, const char *text);
void seal_int(struct seal *s, int64_t n);
void seal_end(struct seal *s, unsigned char *out);
