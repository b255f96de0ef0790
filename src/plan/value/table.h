/* Dictionaries and sets: hashed with a seed, in the order of insertion. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/value/value.h"

struct entry {
	uint64_t hash;
	struct val key; /* T_UNSET: it was removed */
	struct val value;
};

struct table {
	struct entry *entry; /* in insertion order; removed ones stay until the table grows */
	uint32_t n_entries, n_live, room;
	uint32_t mark;	 /* as in struct list */
	uint32_t *index; /* of entries plus one; NULL while there are few */
	uint32_t n_index;
	uint32_t n_iterators;
	bool is_frozen;
	uint32_t label, seen, guard;
};

/* Storage for a new one. @type: T_DICT or T_SET. Returns: 0 or -1. */
int table_new(struct heap *h, uint32_t type, size_t room, struct val *out);

/* Returns: the index in `entry`; -1: not found; -2 with a failure: @key cannot be hashed. */
int64_t table_find(struct heap *h, const struct table *t, struct val key);

/* The same for a key whose hash is known. */
int64_t table_find_hashed(struct heap *h, const struct table *t, struct val key, uint64_t hash);

/* Insert or replace; the place of a key that is there stays. Returns: 1 new, 0 replaced, -1. */
int table_put(struct heap *h, struct table *t, struct val key, struct val value);

/* Remove the entry at the index @at. */
void table_remove(struct table *t, uint32_t at);

/* Remove all. */
void table_clear(struct table *t);

/* The next entry at or after *at, which then stands behind it. Returns: NULL at the end. */
const struct entry *table_next(const struct table *t, uint32_t *at);

/* May it change now? Returns: 0, or -1 with the failure set. */
int table_check(struct heap *h, const struct table *t, uint32_t type);
