/* Dictionaries and sets: hash tables with a seed, in the order of insertion.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

struct entry {
	uint64_t hash;
	struct val key; /* T_UNSET: the entry was removed */
	struct val value;
};

struct table {
	struct entry *entry; /* in insertion order; removed entries remain until the table grows */
	uint32_t n_entries, n_live, room;
	uint32_t mark;	 /* as in struct list */
	uint32_t *index; /* hash index of entry numbers plus 1; NULL while the table is small */
	uint32_t n_index;
	uint32_t n_iterators;
	bool is_frozen;
	uint32_t label, seen, guard;
};

/* Create an empty table. @type: T_DICT or T_SET. Returns: 0 or -1. */
int table_new(struct heap *h, uint32_t type, size_t room, struct val *out);

/* Find a key. Returns: the index in `entry`; -1 if not found; -2 with a failure if @key cannot be
 * hashed or compared. */
int64_t table_find(struct heap *h, const struct table *t, struct val key);

/* Find a key whose hash is known. Returns: as table_find(). */
int64_t table_find_hashed(struct heap *h, const struct table *t, struct val key, uint64_t hash);

/* Insert a key, or replace its value; an existing key keeps its position. Returns: 1 if the key is
 * new; 0 if it existed; -1. */
int table_put(struct heap *h, struct table *t, struct val key, struct val value);

/* Remove the entry at the index @at. */
void table_remove(struct table *t, uint32_t at);

/* Remove all entries. */
void table_clear(struct table *t);

/* Return the next entry at or after *at, and advance *at past it. Returns: NULL at the end. */
const struct entry *table_next(const struct table *t, uint32_t *at);

/* May the table be changed now? Returns: 0; -1 with the failure set if it may not. */
int table_check(struct heap *h, const struct table *t, uint32_t type);
