/* What is known of a value: whence, for whom, how much of it somebody could choose.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much an attacker could choose, from nothing to any text. */
enum label_kind {
	KIND_CONST,
	KIND_BOOL,
	KIND_ENUM, /* one of `size` words */
	KIND_NUMBER,
	KIND_DATE,
	KIND_HANDLE, /* names something that exists, of the type `type` */
	KIND_NAME,   /* a text of the form of `type` */
	KIND_TEXT,
};

struct kind {
	enum label_kind rank;
	uint32_t size; /* KIND_ENUM: at least 2 */
	uint32_t type; /* KIND_HANDLE, KIND_NAME: an atom; 0 is any */
};

/* Sets of atoms, interned: 0 is empty, LABEL_ALL is every atom there is or will be. */
enum { LABEL_ALL = UINT32_MAX, LABEL_FAILED = UINT32_MAX, LABEL_BOTTOM = 0 };
enum { LABEL_ATOMS_MAX = 1 << 16, LABEL_LABELS_MAX = 1 << 20, LABEL_ATOM_MAX_BYTES = 1024 };

/* Joined by union, intersection, the upper of two, intersection. Label 0 is a trusted public
 * constant and joins to the other one: no origin, readers and endorsements LABEL_ALL. */
struct label {
	uint32_t origins;  /* "user", "tool:mail.search#ann@example.com" */
	uint32_t choosers; /* of the origins: those that only chose among what others gave */
	uint32_t readers;
	struct kind kind;
	uint32_t is_composed;  /* 1: a text with places for such, see label_composed() */
	uint32_t endorsements; /* "approved#3", "matched:date" */
	uint32_t presumed;     /* a label, or 0: see label_presumed() */
};

/* Limits: @max_bytes for all there will be. Returns: NULL without memory. */
struct labels *labels_new(size_t max_bytes);
void labels_free(struct labels *all);
/* Was there a time without memory? Then nothing that came of it may be believed. */
bool labels_has_failed(const struct labels *all);

/* The atom of a text, made when it is new; the text of one. Returns: 0 without memory; NULL. */
uint32_t label_atom(struct labels *all, const char *text, size_t bytes);
const char *label_text(const struct labels *all, uint32_t atom);

/* Sets: of one atom, the union, the intersection, is @a within @b, the n-th atom (0 behind the
 * last). Returns: LABEL_FAILED for what cannot be made: labels_has_failed() tells it from
 * LABEL_ALL.
 */
uint32_t label_set(struct labels *all, uint32_t atom);
uint32_t label_union(struct labels *all, uint32_t a, uint32_t b);
uint32_t label_intersection(struct labels *all, uint32_t a, uint32_t b);
bool label_is_subset(const struct labels *all, uint32_t a, uint32_t b);
uint32_t label_nth(const struct labels *all, uint32_t set, size_t n);

/* The id of a label, the label of an id. Returns: LABEL_FAILED without memory: above all. */
uint32_t label_intern(struct labels *all, const struct label *label);
struct label label_get(const struct labels *all, uint32_t id);

/* The least above both, memoised. Returns: LABEL_FAILED. */
uint32_t label_join(struct labels *all, uint32_t a, uint32_t b);
/* Of what is computed of it: nobody has endorsed that, and nobody has only chosen it. */
uint32_t label_made(struct labels *all, uint32_t id);
/* Of which one it is: its origins have chosen that, and nothing else. */
uint32_t label_choice(struct labels *all, uint32_t id);
/* Of a text put together, once, of pieces of which @id is the join: who chose a piece has chosen
 * the text, and of numbers it says no more than they do. Again: choice upon choice says anything.
 */
uint32_t label_composed(struct labels *all, uint32_t id);
uint32_t label_givers(struct labels *all, uint32_t id); /* a set: who gave something of it */
/* The same of kinds. */
struct kind kind_join(struct kind a, struct kind b);
bool kind_is_below(struct kind a, struct kind b);
