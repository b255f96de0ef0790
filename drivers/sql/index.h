/* Where the rows with a value in a column begin. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "csv.h"

struct index_entry {
	uint64_t offset, row;
	uint32_t hash, next; /* the next entry with such a hash, or 0; entries count from 1 */
};

struct index {
	struct index_entry *entries;
	uint32_t *heads;
	size_t n, room, n_heads; /* a power of two */
};

void index_done(struct index *x);

/* Add a row. Returns: 0, -E2BIG at @max rows, -ENOMEM. */
int index_add(struct index *x, uint32_t hash, uint64_t offset, uint64_t row, size_t max);

/* Make it ready to be asked. Returns: 0, -ENOMEM. */
int index_finish(struct index *x);

/*
 * The first entry for @hash, or the one after @entry, in the order of the file. Returns: its
 * number, 0 for none.
 */
uint32_t index_first(const struct index *x, uint32_t hash);
uint32_t index_after(const struct index *x, uint32_t entry, uint32_t hash);

/* Equal for all that SQLite may find equal, if it converts one: '007' and 7, ' 1.0' and 1. */
uint32_t index_hash_text(const char *text, size_t bytes);
uint32_t index_hash_real(double real);
