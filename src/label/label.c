/*
 * The lattice of labels. A label says four things about a value:
 *	origins       who supplied the data in the value, or selected the value (taint)
 *	readers       who may read the value (confidentiality)
 *	kind          how much of the value an attacker could choose at most
 *	endorsements  what speaks for the value, such as the approval of a person
 * The label of the program counter is called a guard.
 *
 * Each origin is either a giver or a chooser:
 * - The data of a giver is in the value. Computing on a value makes every origin of the value a
 *   giver (label_made()).
 * - The data of a chooser is not in the value. It only selected the value, by a condition, an index
 *   or a filter. In x[i], for example, every origin of i becomes a chooser (label_choice()).
 *
 * Bottom (id 0) is the label of a trusted public constant: no origin, every reader, kind const,
 * every endorsement. The join of two labels is their least upper bound, so the join never claims
 * more trust than either label:
 *	origins       the union of both
 *	choosers      all origins except those that are a giver in one of the labels
 *	readers       the intersection of both
 *	kind          the maximum of both
 *	endorsements  the intersection of both
 *
 * The check and the machine join labels at every step, so labels and joins must be cheap. Atoms
 * (names), sets of atoms and labels are interned: equal ones have the same 32-bit id, which is
 * valid until labels_free(). Joins are cached by the pair of ids. A function that runs out of
 * memory returns LABEL_FAILED, the top of the lattice; from then on labels_has_failed() is true.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "label/label.h"

#include "base/attr.h"

#include <stdlib.h>
#include <string.h>

/* A set of atoms in ascending order. Two sets are compared atom by atom only if their hashes are
 * equal. */
struct set {
	uint64_t hash;
	uint32_t n;
	uint32_t *atom;
};

/* A hash table with open addressing. A slot contains 1 plus an index into an array of items; a
 * free slot contains 0. The size is a power of two, and at most two thirds of the slots are in
 * use. */
struct index {
	uint32_t *at;
	uint32_t n, room;
};

struct memo {
	uint32_t a, b, result;
};

struct labels {
	size_t used_bytes, max_bytes;
	bool has_failed;
	char **text; /* text of each atom; index 0 is not an atom */
	uint32_t n_atoms, atom_room;
	struct set *set;
	uint32_t n_sets, set_room;
	struct label *label;
	uint32_t n_labels, label_room;
	struct memo *join;
	uint32_t n_joins, join_room;
	struct index atoms, sets, ids, joins;
};

static void *take(struct labels *all, size_t bytes)
{
	void *p = all->used_bytes + bytes > all->max_bytes ? NULL : calloc(1, bytes ? bytes : 1);
	all->used_bytes += p ? bytes : 0;
	all->has_failed |= !p;
	return p;
}

static void *grow(struct labels *all, void *p, uint32_t n, uint32_t *room, size_t size)
{
	if (n < *room)
		return p;
	uint32_t now = *room ? *room * 2 : 16;
	void *item = take(all, now * size);
	if (!item)
		return NULL;
	if (n > 0)
		memcpy(item, p, n * size);
	free(p);
	all->used_bytes -= *room * size;
	*room = now;
	return item;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

static void add_index(struct index *index, uint64_t hash, uint32_t place)
{
	uint32_t at = (uint32_t)hash & (index->room - 1);
	while (index->at[at])
		at = (at + 1) & (index->room - 1);
	index->at[at] = place + 1;
	index->n++;
}

/* Enlarge @index if it has no room for one more item. @hash_of returns the hash of the item with
 * index @i. */
static bool make_room(struct labels *all, struct index *index,
	uint64_t (*hash_of)(const struct labels *all, uint32_t i))
{
	if (index->n * 3 < index->room * 2)
		return true;
	struct index now = {.room = index->room ? index->room * 2 : 32};
	now.at = take(all, now.room * sizeof *now.at);
	if (!now.at)
		return false;
	for (uint32_t i = 0; i < index->n; i++)
		add_index(&now, hash_of(all, i), i);
	free(index->at);
	all->used_bytes -= index->room * sizeof *index->at;
	*index = now;
	return true;
}

static uint64_t hash_text(const char *text, size_t bytes)
{
	uint64_t h = bytes;
	for (size_t i = 0; i < bytes; i++)
		h = mix(h, (unsigned char)text[i]);
	return h;
}

static uint64_t hash_atom(const struct labels *all, uint32_t i)
{
	return hash_text(all->text[i], strlen(all->text[i]));
}

static uint64_t hash_set(const struct labels *all, uint32_t i)
{
	return all->set[i].hash;
}

static uint64_t hash_one(const struct label *l)
{
	uint64_t h = mix(mix(1, l->origins), (uint64_t)l->choosers << 32 | l->readers);
	h = mix(mix(h, l->kind.rank * 2 + l->is_composed),
		(uint64_t)l->kind.size << 32 | l->kind.type);
	return mix(mix(h, l->endorsements), l->presumed);
}

static uint64_t hash_label(const struct labels *all, uint32_t i)
{
	return hash_one(&all->label[i]);
}

static uint64_t hash_join(const struct labels *all, uint32_t i)
{
	return mix(mix(2, all->join[i].a), all->join[i].b);
}

/* Create the items with id 0: the empty set, the bottom label, and an atom that label_atom()
 * never returns. */
static bool begin(struct labels *all)
{
	const struct label bottom = {.readers = LABEL_ALL, .endorsements = LABEL_ALL};
	if (!make_room(all, &all->atoms, hash_atom) || !make_room(all, &all->sets, hash_set))
		return false;
	all->text = grow(all, NULL, 0, &all->atom_room, sizeof *all->text);
	all->set = grow(all, NULL, 0, &all->set_room, sizeof *all->set);
	char *none = all->text && all->set ? take(all, 1) : NULL;
	if (!none)
		return false;
	all->text[all->n_atoms] = none;
	add_index(&all->atoms, hash_text(none, 0), all->n_atoms++);
	add_index(&all->sets, 0, all->n_sets++);
	return label_intern(all, &bottom) == LABEL_BOTTOM;
}

struct labels *labels_new(size_t max_bytes)
{
	struct labels *all = calloc(1, sizeof *all);
	if (!all)
		return NULL;
	all->max_bytes = max_bytes;
	if (begin(all))
		return all;
	labels_free(all);
	return NULL;
}

void labels_free(struct labels *all)
{
	if (!all)
		return;
	for (uint32_t i = 0; i < all->n_atoms; i++)
		free(all->text[i]);
	for (uint32_t i = 0; i < all->n_sets; i++)
		free(all->set[i].atom);
	free(all->text);
	free(all->set);
	free(all->label);
	free(all->join);
	free(all->atoms.at);
	free(all->sets.at);
	free(all->ids.at);
	free(all->joins.at);
	free(all);
}

bool labels_has_failed(const struct labels *all)
{
	return all->has_failed;
}

uint32_t label_atom(struct labels *all, const char *text, size_t bytes)
{
	uint64_t hash = hash_text(text, bytes);
	if (bytes == 0 || bytes > LABEL_ATOM_MAX_BYTES || memchr(text, '\0', bytes) ||
		!make_room(all, &all->atoms, hash_atom))
		return 0;
	for (uint32_t at = (uint32_t)hash & (all->atoms.room - 1); all->atoms.at[at];
		at = (at + 1) & (all->atoms.room - 1)) {
		const char *other = all->text[all->atoms.at[at] - 1];
		if (strlen(other) == bytes && memcmp(other, text, bytes) == 0)
			return all->atoms.at[at] - 1;
	}
	char **texts = all->n_atoms < LABEL_ATOMS_MAX
		? grow(all, all->text, all->n_atoms, &all->atom_room, sizeof *texts)
		: NULL;
	all->text = texts ? texts : all->text;
	char *copy = texts ? take(all, bytes + 1) : NULL;
	all->has_failed |= !copy;
	if (!copy)
		return 0;
	memcpy(copy, text, bytes);
	all->text[all->n_atoms] = copy;
	add_index(&all->atoms, hash, all->n_atoms);
	return all->n_atoms++;
}

const char *label_text(const struct labels *all, uint32_t atom)
{
	return atom > 0 && atom < all->n_atoms ? all->text[atom] : NULL;
}

/* Return the id of the set that consists of the @n sorted atoms in @atom. Owns: this function
 * takes over the array @atom. */
static uint32_t intern_set(struct labels *all, uint32_t *atom, uint32_t n)
{
	uint64_t hash = 0;
	for (uint32_t i = 0; i < n; i++)
		hash = mix(hash + 1, atom[i]);
	bool is_room = make_room(all, &all->sets, hash_set);
	for (uint32_t at = (uint32_t)hash & (all->sets.room - 1); is_room && all->sets.at[at];
		at = (at + 1) & (all->sets.room - 1)) {
		const struct set *s = &all->set[all->sets.at[at] - 1];
		if (s->hash == hash && s->n == n &&
			(n == 0 || memcmp(s->atom, atom, n * sizeof *atom) == 0)) {
			free(atom);
			return all->sets.at[at] - 1;
		}
	}
	struct set *sets =
		is_room ? grow(all, all->set, all->n_sets, &all->set_room, sizeof *sets) : NULL;
	if (!sets) {
		all->has_failed = true;
		free(atom);
		return LABEL_FAILED;
	}
	all->set = sets;
	all->used_bytes += n * sizeof *atom;
	all->set[all->n_sets] = (struct set){hash, n, atom};
	add_index(&all->sets, hash, all->n_sets);
	return all->n_sets++;
}

uint32_t label_set(struct labels *all, uint32_t atom)
{
	uint32_t *one = malloc(sizeof *one);
	all->has_failed |= !one || atom == 0;
	if (!one || atom == 0) {
		free(one);
		return LABEL_FAILED;
	}
	*one = atom;
	return intern_set(all, one, 1);
}

/* Return the union of two sets if @is_union is true, else their intersection. */
static uint32_t merge(struct labels *all, uint32_t a, uint32_t b, bool is_union)
{
	const struct set *x = &all->set[a], *y = &all->set[b];
	uint32_t i = 0, k = 0, n = 0;
	uint32_t *atom = malloc(((size_t)x->n + y->n + 1) * sizeof *atom);
	if (!atom) {
		all->has_failed = true;
		return LABEL_FAILED;
	}
	while (i < x->n || k < y->n) {
		bool is_x = k == y->n || (i < x->n && x->atom[i] <= y->atom[k]);
		bool is_y = i == x->n || (k < y->n && y->atom[k] <= x->atom[i]);
		if (is_union || (is_x && is_y))
			atom[n++] = is_x ? x->atom[i] : y->atom[k];
		i += is_x;
		k += is_y;
	}
	return intern_set(all, atom, n);
}

uint32_t label_union(struct labels *all, uint32_t a, uint32_t b)
{
	if (a == b || b == 0)
		return a;
	if (a == LABEL_ALL || b == LABEL_ALL)
		return LABEL_ALL;
	return a == 0 ? b : merge(all, a, b, true);
}

uint32_t label_intersection(struct labels *all, uint32_t a, uint32_t b)
{
	if (a == b || b == LABEL_ALL)
		return a;
	if (a == 0 || b == 0)
		return 0;
	return a == LABEL_ALL ? b : merge(all, a, b, false);
}

/* Return the difference of two sets: the atoms of @a that are not in @b. If @a is LABEL_ALL, the
 * result is LABEL_ALL, because no set can represent all atoms except some. */
static uint32_t without(struct labels *all, uint32_t a, uint32_t b)
{
	if (b == 0 || a == 0 || a == LABEL_ALL)
		return a;
	if (a == b || b == LABEL_ALL)
		return 0;
	const struct set *x = &all->set[a], *y = &all->set[b];
	uint32_t k = 0, n = 0, *atom = malloc(((size_t)x->n + 1) * sizeof *atom);
	if (!atom) {
		all->has_failed = true;
		return LABEL_FAILED;
	}
	for (uint32_t i = 0; i < x->n; i++) {
		while (k < y->n && y->atom[k] < x->atom[i])
			k++;
		if (k == y->n || y->atom[k] != x->atom[i])
			atom[n++] = x->atom[i];
	}
	return intern_set(all, atom, n);
}

bool label_is_subset(const struct labels *all, uint32_t a, uint32_t b)
{
	if (a == b || a == 0 || b == LABEL_ALL)
		return true;
	if (a == LABEL_ALL)
		return false;
	const struct set *x = &all->set[a], *y = &all->set[b];
	uint32_t k = 0;
	for (uint32_t i = 0; i < x->n; i++, k++) {
		while (k < y->n && y->atom[k] < x->atom[i])
			k++;
		if (k == y->n || y->atom[k] != x->atom[i])
			return false;
	}
	return true;
}

uint32_t label_nth(const struct labels *all, uint32_t set, size_t n)
{
	return set != LABEL_ALL && n < all->set[set].n ? all->set[set].atom[n] : 0;
}

struct kind kind_join(struct kind a, struct kind b)
{
	struct kind low = a.rank < b.rank ? a : b, high = a.rank < b.rank ? b : a;
	if (high.rank == KIND_ENUM && low.rank == KIND_ENUM)
		high.size = MAX(high.size, low.size);
	if (low.rank >= KIND_HANDLE && high.rank <= KIND_NAME && low.type != high.type)
		high.type = 0;
	return high;
}

bool kind_is_below(struct kind a, struct kind b)
{
	if (a.rank > b.rank || (a.rank == KIND_ENUM && b.rank == KIND_ENUM && a.size > b.size))
		return false;
	return a.rank < KIND_HANDLE || b.rank > KIND_NAME || b.type == 0 || a.type == b.type;
}

/* Set to 0 the members of @k that have no meaning for its rank: `size` if the rank is not
 * KIND_ENUM, `type` if the rank is neither KIND_HANDLE nor KIND_NAME. The reason: label_intern()
 * compares labels byte by byte, so equal kinds must have equal bytes. */
static struct kind tidy(struct kind k)
{
	k.size = k.rank == KIND_ENUM ? MAX(k.size, 2u) : 0;
	k.type = k.rank == KIND_HANDLE || k.rank == KIND_NAME ? k.type : 0;
	return k;
}

uint32_t label_intern(struct labels *all, const struct label *label)
{
	struct label l = *label;
	l.kind = tidy(l.kind);
	/* LABEL_ALL contains every possible origin, and each of them may be a giver. */
	l.choosers = l.origins == LABEL_ALL ? 0 : label_intersection(all, l.choosers, l.origins);
	bool says_more = l.kind.rank == KIND_TEXT && l.choosers == 0;
	l.is_composed = l.is_composed && l.kind.rank != KIND_CONST && !says_more;
	uint64_t hash = hash_one(&l);
	if (all->n_labels >= LABEL_LABELS_MAX || !make_room(all, &all->ids, hash_label)) {
		all->has_failed = true;
		return LABEL_FAILED;
	}
	for (uint32_t at = (uint32_t)hash & (all->ids.room - 1); all->ids.at[at];
		at = (at + 1) & (all->ids.room - 1))
		if (memcmp(&all->label[all->ids.at[at] - 1], &l, sizeof l) == 0)
			return all->ids.at[at] - 1;
	struct label *now = grow(all, all->label, all->n_labels, &all->label_room, sizeof *now);
	if (!now)
		return LABEL_FAILED;
	all->label = now;
	all->label[all->n_labels] = l;
	add_index(&all->ids, hash, all->n_labels);
	return all->n_labels++;
}

struct label label_get(const struct labels *all, uint32_t id)
{
	return id == LABEL_FAILED
		? (struct label){.origins = LABEL_ALL, .kind = {.rank = KIND_TEXT}}
		: all->label[id];
}

static uint32_t join_anew(struct labels *all, uint32_t a, uint32_t b)
{
	struct label x = all->label[a], y = all->label[b];
	uint32_t givers = label_union(
		all, without(all, x.origins, x.choosers), without(all, y.origins, y.choosers));
	struct label both = {.origins = label_union(all, x.origins, y.origins),
		.is_composed = x.is_composed | y.is_composed,
		.readers = label_intersection(all, x.readers, y.readers),
		.kind = kind_join(x.kind, y.kind),
		.endorsements = label_intersection(all, x.endorsements, y.endorsements),
		.presumed = label_join(all, x.presumed, y.presumed)};
	both.choosers = without(all, both.origins, givers);
	return all->has_failed ? LABEL_FAILED : label_intern(all, &both);
}

uint32_t label_join(struct labels *all, uint32_t a, uint32_t b)
{
	if (a == LABEL_FAILED || b == LABEL_FAILED)
		return LABEL_FAILED;
	if (a == b || b == LABEL_BOTTOM)
		return a;
	if (a == LABEL_BOTTOM)
		return b;
	struct memo m = {MIN(a, b), MAX(a, b), 0};
	uint64_t hash = mix(mix(2, m.a), m.b);
	bool is_room = make_room(all, &all->joins, hash_join);
	for (uint32_t at = (uint32_t)hash & (all->joins.room - 1); is_room && all->joins.at[at];
		at = (at + 1) & (all->joins.room - 1)) {
		const struct memo *known = &all->join[all->joins.at[at] - 1];
		if (known->a == m.a && known->b == m.b)
			return known->result;
	}
	m.result = is_room ? join_anew(all, m.a, m.b) : LABEL_FAILED;
	struct memo *now = m.result == LABEL_FAILED
		? NULL
		: grow(all, all->join, all->n_joins, &all->join_room, sizeof *now);
	if (!now)
		return LABEL_FAILED;
	all->join = now;
	all->join[all->n_joins] = m;
	add_index(&all->joins, hash, all->n_joins++);
	return m.result;
}

uint32_t label_made(struct labels *all, uint32_t id)
{
	struct label l = label_get(all, id);
	if (id == LABEL_FAILED ||
		(l.endorsements == LABEL_ALL && l.presumed == LABEL_BOTTOM && l.choosers == 0))
		return id;
	l.endorsements = l.endorsements == LABEL_ALL ? LABEL_ALL : 0;
	l.choosers = 0;
	l.presumed = label_made(all, l.presumed);
	return l.presumed == LABEL_FAILED ? LABEL_FAILED : label_intern(all, &l);
}

uint32_t label_choice(struct labels *all, uint32_t id)
{
	struct label l = label_get(all, id);
	if (id == LABEL_BOTTOM || id == LABEL_FAILED)
		return id;
	l.choosers = l.origins;
	l.presumed = label_choice(all, l.presumed);
	return l.presumed == LABEL_FAILED ? LABEL_FAILED : label_intern(all, &l);
}

/* Return whether a text composed of values of the kind @k reveals no more than the values do.
 * This does not hold for handles: two handles in one text may name something that neither of
 * them names alone. */
static bool is_small(struct kind k)
{
	return k.rank <= KIND_NUMBER;
}

uint32_t label_composed(struct labels *all, uint32_t id)
{
	struct label l = label_get(all, id);
	if (id == LABEL_FAILED || (l.kind.rank == KIND_CONST && l.presumed == LABEL_BOTTOM))
		return label_made(all, id);
	if (l.is_composed)
		l.choosers = 0;
	if (l.kind.rank != KIND_CONST && (l.is_composed || !is_small(l.kind)))
		l.kind = (struct kind){.rank = KIND_TEXT};
	l.is_composed = !l.is_composed || l.kind.rank == KIND_TEXT;
	l.endorsements = l.endorsements == LABEL_ALL ? LABEL_ALL : 0;
	l.presumed = label_composed(all, l.presumed);
	return l.presumed == LABEL_FAILED ? LABEL_FAILED : label_intern(all, &l);
}

uint32_t label_givers(struct labels *all, uint32_t id)
{
	struct label l = label_get(all, id);
	return id == LABEL_FAILED ? LABEL_FAILED : without(all, l.origins, l.choosers);
}
