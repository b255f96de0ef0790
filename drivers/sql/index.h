/*
 * A hash index from the values of a column to the offsets of the rows that contain them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "csv.h"

struct index_entry {
	uint64_t offset, row;
	uint32_t hash, next; /* next: number of the next entry in the chain (from 1), or 0 */
};

struct index {
	struct index_entry *entries;
	uint32_t *heads;
	size_t n, room, n_heads; /* n_heads: number of chains, a power of two */
};

void index_done(struct index *x);

/*
 * Add a row whose value has the hash @hash. Returns: 0; -E2BIG if there are already @max rows; or
 * -ENOMEM.
 */
int index_add(struct index *x, uint32_t hash, uint64_t offset, uint64_t row, size_t max);

/* Build the chains. Must be called after the last index_add(). Returns: 0, or -ENOMEM. */
int index_finish(struct index *x);

/*
 * index_first() returns the first entry with the hash @hash, in the order of the file.
 * index_after() returns the next such entry after @entry. Entries are numbered from 1. Returns: the
 * number of the entry; 0 if there are no more.
 */
uint32_t index_first(const struct index *x, uint32_t hash);
uint32_t index_after(const struct index *x, uint32_t entry, uint32_t hash);

/*
 * Return the hash of a value. Values that SQLite may consider equal after a conversion have the
 * same hash, such as '007' and 7, or ' 1.0' and 1.
 */
uint32_t index_hash_text(const char *text, size_t bytes);
uint32_t index_hash_real(double real);
