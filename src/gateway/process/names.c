/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/names.h"

#include <sodium/crypto_shorthash.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 16 };

_Static_assert(NAMES_SEED_BYTES == crypto_shorthash_KEYBYTES, "the seed is the key of the hash");
_Static_assert(NAMES_MAX < UINT16_MAX, "a slot has room for each number");

struct names {
	unsigned char seed[NAMES_SEED_BYTES];
	size_t n;
	size_t room; /* of `rows`; a power of two */
	struct name **rows;
	uint16_t *slots; /* twice as many as rows: a row's number and one, or 0: free */
};

/* Return the slot where @host is, or the free one where it would be. */
static size_t slot_of(const struct names *n, const char *host)
{
	unsigned char hash[crypto_shorthash_BYTES];
	size_t at;
	(void)crypto_shorthash(hash, (const unsigned char *)host, strlen(host), n->seed);
	memcpy(&at, hash, sizeof at);
	size_t mask = 2 * n->room - 1;
	for (at &= mask; n->slots[at] != 0; at = (at + 1) & mask)
		if (strcmp(n->rows[n->slots[at] - 1]->host, host) == 0)
			break;
	return at;
}

/* Make room for @room rows. Returns: false, and nothing has changed, without memory. */
static bool grow(struct names *n, size_t room)
{
	struct name **rows = calloc(room, sizeof *rows);
	uint16_t *slots = calloc(2 * room, sizeof *slots);
	if (!rows || !slots) {
		free(rows);
		free(slots);
		return false;
	}
	if (n->n > 0)
		memcpy(rows, n->rows, n->n * sizeof *rows);
	free(n->rows);
	free(n->slots);
	n->rows = rows;
	n->slots = slots;
	n->room = room;
	for (size_t i = 0; i < n->n; i++)
		slots[slot_of(n, rows[i]->host)] = (uint16_t)(i + 1);
	return true;
}

struct names *names_new(const unsigned char seed[NAMES_SEED_BYTES])
{
	struct names *n = calloc(1, sizeof *n);
	if (!n)
		return NULL;
	memcpy(n->seed, seed, sizeof n->seed);
	if (grow(n, ROOM_FIRST))
		return n;
	free(n);
	return NULL;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n; i++)
		free(n->rows[i]);
	free(n->rows);
	free(n->slots);
	free(n);
}

size_t names_count(const struct names *n)
{
	return n->n;
}

struct name *names_row(const struct names *n, size_t i)
{
	return n->rows[i];
}

struct name *names_find(const struct names *n, const char *host)
{
	size_t number = n->slots[slot_of(n, host)];
	return number > 0 ? n->rows[number - 1] : NULL;
}

struct name *names_at(const struct names *n, uint32_t v4)
{
	uint32_t i = v4 - NAMES_FIRST;
	return i < n->n ? n->rows[i] : NULL;
}

struct name *names_add(struct names *n, const char *host)
{
	struct name *name = names_find(n, host);
	if (name || n->n == NAMES_MAX || (n->n == n->room && !grow(n, 2 * n->room)))
		return name;
	size_t bytes = strlen(host) + 1;
	name = malloc(sizeof *name + bytes);
	if (!name)
		return NULL;
	*name = (struct name){.v4 = NAMES_FIRST + (uint32_t)n->n};
	memcpy(name->host, host, bytes);
	n->slots[slot_of(n, host)] = (uint16_t)(n->n + 1);
	n->rows[n->n++] = name;
	return name;
}
