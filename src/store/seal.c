/* SPDX-License-Identifier: Apache-2.0 */
#include "store/seal.h"

#include <string.h>

/* Write @n in big-endian order. */
static void write_int(unsigned char out[8], uint64_t n)
{
	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char)(n >> (56 - 8 * i));
}

void seal_begin(struct seal *s, const char *what, size_t out_bytes)
{
	s->out_bytes = out_bytes;
	(void)crypto_generichash_init(&s->state, NULL, 0, out_bytes);
	seal_text(s, what);
}

void seal_bytes(struct seal *s, const void *data, size_t bytes)
{
	unsigned char length[8];
	write_int(length, bytes);
	(void)crypto_generichash_update(&s->state, length, sizeof length);
	if (bytes > 0)
		(void)crypto_generichash_update(&s->state, data, bytes);
}

void seal_text(struct seal *s, const char *text)
{
	seal_bytes(s, text, strlen(text));
}

void seal_int(struct seal *s, int64_t n)
{
	unsigned char bytes[8];
	write_int(bytes, (uint64_t)n);
	seal_bytes(s, bytes, sizeof bytes);
}

void seal_end(struct seal *s, unsigned char *out)
{
	(void)crypto_generichash_final(&s->state, out, s->out_bytes);
}
