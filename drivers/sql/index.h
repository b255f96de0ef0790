/*
 * A hash index from the values of a column to the offsets of rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "csv.h"

struct index_entry {
	uint64_t offset, row;
	uint32_t hash, next; /* the next entry with the same chain, or 0; entries count from 1 */
};

struct index {
	struct index_entry *entries;
	uint32_t *heads;
	size_t n, room, n_heads; /* a power of two */
};

void index_done(struct index *x);

/* Add a row. Returns: 0, -E2BIG at @max rows, -ENOMEM. */
int index_add(struct index *x, uint32_t hash, uint64_t offset, uint64_t row, size_t max);

/* Build the chains, after the last row was added. Returns: 0, -ENOMEM. */
int index_finish(struct index *x);

/*
 * The first entry for @hash, or the next one after @entry, in the order of the file. Returns: its
 * number, or 0.
 */
uint32_t index_first(const struct index *x, uint32_t hash);
uint32_t index_after(const struct index *x, uint32_t entry, uint32_t hash);

/*
 * The hash of a value. Equal for all values that SQLite may consider equal after a conversion:
 * '007' and 7, ' 1.0' and 1.
 */
uint32_t index_hash_text(const char *text, size_t bytes);
uint32_t index_hash_real(double real);
