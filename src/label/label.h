/* Security labels (taint): where a value comes from, who may read it, how much an attacker could
 * choose. label.c explains the lattice.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much of a value an attacker could choose (channel capacity), from nothing to any text. */
enum label_kind {
	KIND_CONST,
	KIND_BOOL,
	KIND_ENUM, /* one of `size` words */
	KIND_NUMBER,
	KIND_DATE,
	KIND_HANDLE, /* the name of an existing thing of the type `type` */
	KIND_NAME,   /* a text in the format `type`, such as an e-mail address */
	KIND_TEXT,
};

struct kind {
	enum label_kind rank;
	uint32_t size; /* KIND_ENUM: at least 2 */
	uint32_t type; /* KIND_HANDLE, KIND_NAME: an atom; 0: any type */
};

/* Sets of atoms are interned: 0 is the empty set, LABEL_ALL contains every possible atom. */
enum { LABEL_ALL = UINT32_MAX, LABEL_FAILED = UINT32_MAX, LABEL_BOTTOM = 0 };
enum { LABEL_ATOMS_MAX = 1 << 16, LABEL_LABELS_MAX = 1 << 20, LABEL_ATOM_MAX_BYTES = 1024 };

/* Label 0, the bottom, is a trusted public constant: no origin, readers and endorsements LABEL_ALL.
 * Sets are ids of sets. */
struct label {
	uint32_t origins;  /* "user", "tool:mail.search#ann@example.com" */
	uint32_t choosers; /* the origins that only selected among data of others */
	uint32_t readers;
	struct kind kind;
	uint32_t is_composed;  /* 1: a text composed of pieces, see label_composed() */
	uint32_t endorsements; /* "approved#3", "matched:date" */
	uint32_t presumed;     /* the id of a label, or 0: see label_presumed() */
};

/* Limits: @max_bytes for all atoms, sets and labels together. Returns: NULL without memory. */
struct labels *labels_new(size_t max_bytes);
void labels_free(struct labels *all);
/* Has memory run out? Then the labels made since are not reliable. */
bool labels_has_failed(const struct labels *all);

/*
 * label_atom(): return the atom of a text, which is created if necessary. Returns: 0 without
 * memory.
 * label_text(): return the text of an atom. Returns: NULL for an invalid atom.
 */
uint32_t label_atom(struct labels *all, const char *text, size_t bytes);
const char *label_text(const struct labels *all, uint32_t atom);

/*
 * Sets of atoms: the set of one atom; union; intersection; is @a a subset of @b?; the n-th atom (0
 * after the last).
 * Returns: LABEL_FAILED without memory; it equals LABEL_ALL, so ask labels_has_failed().
 */
uint32_t label_set(struct labels *all, uint32_t atom);
uint32_t label_union(struct labels *all, uint32_t a, uint32_t b);
uint32_t label_intersection(struct labels *all, uint32_t a, uint32_t b);
bool label_is_subset(const struct labels *all, uint32_t a, uint32_t b);
uint32_t label_nth(const struct labels *all, uint32_t set, size_t n);

/* label_intern(): return the id of a label. Returns: LABEL_FAILED, the top of the lattice,
 * without memory. label_get(): return the label of an id. */
uint32_t label_intern(struct labels *all, const struct label *label);
struct label label_get(const struct labels *all, uint32_t id);

/* Compute the least upper bound, memoised. Returns: LABEL_FAILED without memory. */
uint32_t label_join(struct labels *all, uint32_t a, uint32_t b);
/* Compute the label of a value computed from one labelled @id: without its endorsements, and
 * with each origin as a giver. */
uint32_t label_made(struct labels *all, uint32_t id);
/* Compute the label of a selection made by a value labelled @id: each origin is only a chooser. */
uint32_t label_choice(struct labels *all, uint32_t id);
/* Compute the label of a text composed of pieces, such as an f-string; @id is the join of the
 * pieces. After one composition, choosers of a piece remain choosers of the text, and the kind
 * of small pieces is kept. A text composed of composed texts may contain any information: each
 * origin is a giver, and the kind is text. */
uint32_t label_composed(struct labels *all, uint32_t id);
uint32_t label_givers(struct labels *all, uint32_t id); /* the origins that are not choosers */
/* The lattice of kinds: the least upper bound, and the order. */
struct kind kind_join(struct kind a, struct kind b);
bool kind_is_below(struct kind a, struct kind b);
