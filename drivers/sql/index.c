/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024, NUMBER_BYTES_MAX = 400 };

void index_done(struct index *x)
{
	free(x->entries);
	free(x->heads);
	*x = (struct index){0};
}

int index_add(struct index *x, uint32_t hash, uint64_t offset, uint64_t row, size_t max)
{
	if (x->n >= max)
		return -E2BIG;
	if (x->n == x->room) {
		size_t room = x->room > 0 ? x->room * 2 : FIRST_ROOM;
		struct index_entry *entries = realloc(x->entries, room * sizeof *entries);
		if (!entries)
			return -ENOMEM;
		x->entries = entries;
		x->room = room;
	}
	x->entries[x->n++] = (struct index_entry){.offset = offset, .row = row, .hash = hash};
	return 0;
}

int index_finish(struct index *x)
{
	size_t n_heads = 16;
	while (n_heads < x->n)
		n_heads *= 2;
	x->heads = calloc(n_heads, sizeof *x->heads);
	if (!x->heads)
		return -ENOMEM;
	x->n_heads = n_heads;
	/*
	 * Insert the entries from last to first, so that each chain lists its rows in the order of
	 * the file.
	 */
	for (size_t i = x->n; i > 0; i--) {
		uint32_t *head = &x->heads[x->entries[i - 1].hash & (n_heads - 1)];
		x->entries[i - 1].next = *head;
		*head = (uint32_t)i;
	}
	return 0;
}

static uint32_t skip(const struct index *x, uint32_t entry, uint32_t hash)
{
	while (entry > 0 && x->entries[entry - 1].hash != hash)
		entry = x->entries[entry - 1].next;
	return entry;
}

uint32_t index_first(const struct index *x, uint32_t hash)
{
	return skip(x, x->heads[hash & (x->n_heads - 1)], hash);
}

uint32_t index_after(const struct index *x, uint32_t entry, uint32_t hash)
{
	return skip(x, x->entries[entry - 1].next, hash);
}

/* Hash by FNV-1a. The final step mixes the high bits into the low ones, which choose the chain. */
static uint32_t hash_bytes(const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < bytes; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 32);
}

uint32_t index_hash_real(double real)
{
	/*
	 * Hash the value as a float: SQLite and strtod() may convert a text to doubles that differ
	 * in the last bit. Adding 0.0f turns -0.0 into 0.0, which SQLite considers equal.
	 */
	float value = (float)real + 0.0f;
	return hash_bytes(&value, sizeof value);
}

uint32_t index_hash_text(const char *text, size_t bytes)
{
	char number[NUMBER_BYTES_MAX];
	size_t n = bytes;
	const char *at = text;
	for (; n > 0 && isspace((unsigned char)*at); n--)
		at++;
	while (n > 0 && isspace((unsigned char)at[n - 1]))
		n--;
	if (n > 0 && n < sizeof number && !memchr(at, 0, n)) {
		char *end;
		memcpy(number, at, n);
		number[n] = '\0';
		double real = strtod(number, &end);
		if (!*end && strspn(number, "0123456789+-.eE") == n)
			return index_hash_real(real);
	}
	return hash_bytes(text, bytes);
}
