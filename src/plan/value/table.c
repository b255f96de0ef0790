/* Dictionaries and sets: an array of entries and a hash index. SPDX-License-Identifier: Apache-2.0
 */
#include "plan/value/table.h"

#include "plan/value/str.h"

#include <string.h>

enum { FEW = 8 }; /* a table of at most FEW entries is searched without an index, which is faster */

int table_new(struct heap *h, uint32_t type, size_t room, struct val *out)
{
	struct table *t = heap_zero(h, sizeof *t);
	if (!t)
		return -1;
	t->guard = h->guard;
	t->seen = h->epoch;
	if (room > 0) {
		room = MIN(room, (size_t)1 << 20);
		t->entry = heap_regrow(h, NULL, 0, room, sizeof *t->entry);
		if (!t->entry)
			return -1;
		t->room = (uint32_t)room;
	}
	*out = VAL_PTR(type, t);
	return 0;
}

static int is_key(struct heap *h, const struct entry *e, struct val key, uint64_t hash)
{
	if (e->hash != hash || e->key.type == T_UNSET)
		return 0;
	if (e->key.type == T_STRING && key.type == T_STRING)
		return str_equal(e->key.str, key.str);
	return val_equal(h, e->key, key);
}

int64_t table_find_hashed(struct heap *h, const struct table *t, struct val key, uint64_t hash)
{
	int r;
	if (!t->index) {
		for (uint32_t i = 0; i < t->n_entries; i++)
			if ((r = is_key(h, &t->entry[i], key, hash)))
				return r < 0 ? -2 : (int64_t)i;
		return -1;
	}
	uint32_t mask = t->n_index - 1, at = (uint32_t)hash & mask;
	for (uint32_t step = 1; t->index[at]; step++) {
		uint32_t i = t->index[at] - 1;
		if ((r = is_key(h, &t->entry[i], key, hash)))
			return r < 0 ? -2 : (int64_t)i;
		at = (at + step) & mask;
	}
	return -1;
}

int64_t table_find(struct heap *h, const struct table *t, struct val key)
{
	uint64_t hash;
	if (val_hash(h, key, &hash) < 0)
		return -2;
	return table_find_hashed(h, t, key, hash);
}

static void add_index(struct table *t, uint32_t i)
{
	uint32_t mask = t->n_index - 1, at = (uint32_t)t->entry[i].hash & mask;
	for (uint32_t step = 1; t->index[at]; step++)
		at = (at + step) & mask;
	t->index[at] = i + 1;
}

/* Enlarge the table, drop the entries that were removed, and rebuild the index. */
static int grow(struct heap *h, struct table *t)
{
	uint32_t room = t->n_live < FEW / 2 ? FEW : t->n_live * 2, n = 0, n_index = 0;
	if (t->n_live > UINT32_MAX / 16)
		return heap_fail_kind(h, FAIL_MEMORY, "out of memory: %u entries", t->n_live);
	struct entry *now = heap_regrow(h, NULL, 0, room, sizeof *now);
	uint32_t *index = NULL;
	if (room > FEW) {
		for (n_index = 2 * FEW; n_index < room + room / 2; n_index *= 2)
			;
		index = heap_zero(h, n_index * sizeof *index);
	}
	if (!now || (room > FEW && !index))
		return -1;
	for (uint32_t i = 0; i < t->n_entries; i++)
		if (t->entry[i].key.type != T_UNSET)
			now[n++] = t->entry[i];
	heap_release(h, t->entry, t->room * sizeof *t->entry);
	heap_release(h, t->index, t->n_index * sizeof *t->index);
	t->entry = now;
	t->room = room;
	t->n_entries = n;
	t->index = index;
	t->n_index = n_index;
	for (uint32_t i = 0; index && i < n; i++)
		add_index(t, i);
	return 0;
}

int table_put(struct heap *h, struct table *t, struct val key, struct val value)
{
	uint64_t hash;
	if (val_hash(h, key, &hash) < 0)
		return -1;
	int64_t at = table_find_hashed(h, t, key, hash);
	if (at >= 0) {
		t->entry[at].value = value;
		return 0;
	}
	if (at == -2)
		return -1;
	/* Grow if the array is full, or if a table without an index becomes too long to search. */
	if ((t->n_entries == t->room || (!t->index && t->n_entries >= FEW)) && grow(h, t) < 0)
		return -1;
	t->entry[t->n_entries] = (struct entry){hash, key, value};
	t->n_entries++;
	t->n_live++;
	if (t->index)
		add_index(t, t->n_entries - 1);
	return 1;
}

void table_remove(struct table *t, uint32_t at)
{
	t->entry[at].key = VAL_UNSET;
	t->entry[at].value = VAL_UNSET;
	t->n_live--;
	/* Drop removed entries at the end, so that popping from the end leaves no gaps. */
	if (t->n_live == 0)
		table_clear(t);
	else if (!t->index)
		while (t->n_entries > 0 && t->entry[t->n_entries - 1].key.type == T_UNSET)
			t->n_entries--;
}

void table_clear(struct table *t)
{
	if (t->index)
		memset(t->index, 0, t->n_index * sizeof *t->index);
	t->n_entries = t->n_live = 0;
}

const struct entry *table_next(const struct table *t, uint32_t *at)
{
	while (*at < t->n_entries) {
		const struct entry *e = &t->entry[(*at)++];
		if (e->key.type != T_UNSET)
			return e;
	}
	return NULL;
}

int table_check(struct heap *h, const struct table *t, uint32_t type)
{
	if (t->is_frozen)
		return heap_fail(h, "cannot change a frozen %s", type_name(type));
	if (t->n_iterators > 0)
		return heap_fail(h, "cannot change a %s during iteration", type_name(type));
	return 0;
}
