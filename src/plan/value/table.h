/* Dictionaries and sets: hash tables that keep the order of insertion. Hashes depend on a secret
 * seed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

struct entry {
	uint64_t hash;
	struct val key; /* of type T_UNSET if the entry was removed */
	struct val value;
};

struct table {
	/* entries in the order of insertion; removed ones remain until the table grows */
	struct entry *entry;
	uint32_t n_entries, n_live, room;
	/* number of the last walk over labels that visited this table, see was_here() in
	 * machine/flow.c */
	uint32_t mark;
	/* The hash index. Each slot contains 1 plus an index in `entry`, or 0 if the slot is
	 * free. NULL while the table is small. */
	uint32_t *index;
	uint32_t n_index;
	uint32_t n_iterators;
	bool is_frozen;
	uint32_t label, seen, guard;
};

/* Create an empty table of @type (T_DICT or T_SET) with space for @room entries. Returns: 0 or
 * -1. */
int table_new(struct heap *h, uint32_t type, size_t room, struct val *out);

/* Find a key. Returns: the index in `entry`; -1 if not found; -2 with a failure if @key cannot be
 * hashed or compared. */
int64_t table_find(struct heap *h, const struct table *t, struct val key);

/* Find a key whose hash is known. Returns: as table_find(). */
int64_t table_find_hashed(struct heap *h, const struct table *t, struct val key, uint64_t hash);

/* Insert a key, or replace its value. An existing key keeps its position. Returns: 1 if the key is
 * new; 0 if it existed; -1 on failure. */
int table_put(struct heap *h, struct table *t, struct val key, struct val value);

/* Remove the entry at the index @at. */
void table_remove(struct table *t, uint32_t at);

/* Remove all entries. */
void table_clear(struct table *t);

/* Return the next entry that was not removed, beginning at index *at, and move *at past it.
 * Returns: NULL at the end. */
const struct entry *table_next(const struct table *t, uint32_t *at);

/* Check that the table may be changed now: it must not be frozen, and no loop may iterate over it.
 * Returns: 0; -1 with the failure set. */
int table_check(struct heap *h, const struct table *t, uint32_t type);
