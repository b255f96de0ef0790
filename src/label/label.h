/*
 * Security labels (taint). A label says where a value comes from, who may read it, and how much of
 * it an attacker could choose. label.c explains the lattice.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much of a value an attacker could choose (channel capacity): from KIND_CONST, nothing, to
 * KIND_TEXT, any text. */
enum label_kind {
	KIND_CONST,
	KIND_BOOL,
	KIND_ENUM, /* one of `size` given words */
	KIND_NUMBER,
	KIND_DATE,
	KIND_HANDLE, /* the name of an existing thing, such as a file; `type` says of which sort */
	KIND_NAME,   /* a text in the format `type`, such as an e-mail address */
	KIND_TEXT,
};

struct kind {
	enum label_kind rank;
	uint32_t size; /* for KIND_ENUM: number of possible words, at least 2 */
	uint32_t type; /* for KIND_HANDLE and KIND_NAME: the type, as an atom; 0: any type */
};

/* An atom is the id of an interned text. A set of atoms has an id, too: 0 is the empty set, and
 * LABEL_ALL the set of all possible atoms. LABEL_BOTTOM is the id of the least label.
 * LABEL_FAILED, in place of a label or set, means that memory is exhausted. */
enum { LABEL_ALL = UINT32_MAX, LABEL_FAILED = UINT32_MAX, LABEL_BOTTOM = 0 };
enum { LABEL_ATOMS_MAX = 1 << 16, LABEL_LABELS_MAX = 1 << 20, LABEL_ATOM_MAX_BYTES = 1024 };

/* A label. All sets are given by their ids. The least label, label 0, belongs to trusted public
 * constants: its `origins` are empty, its `readers` and `endorsements` are LABEL_ALL. */
struct label {
	uint32_t origins; /* set of atoms such as "user", "tool:mail.search#ann" */
	/* Subset of `origins`: the origins whose data is not in the value, but only selected the
	 * value, for example as an index. */
	uint32_t choosers;
	uint32_t readers;
	struct kind kind;
	uint32_t is_composed;  /* 1 if the value is a composed text, see label_composed() */
	uint32_t endorsements; /* set of atoms such as "approved#3", "matched:date" */
	/* Id of the presumption, a label that may or may not apply, see foreseen.h; 0 if the
	 * value has none. */
	uint32_t presumed;
};

/*
 * Create an empty store of labels.
 * Limits: @max_bytes for all atoms, sets and labels together.
 * Returns: NULL if memory is exhausted.
 */
struct labels *labels_new(size_t max_bytes);
void labels_free(struct labels *all);
/* Return whether memory was ever exhausted. If so, labels made since then are not reliable. */
bool labels_has_failed(const struct labels *all);

/*
 * label_atom(): return the atom of a text; create the atom if it does not exist. Returns: 0 if
 * memory is exhausted, or if the text is empty, too long or contains a NUL byte.
 * label_text(): return the text of an atom. Returns: NULL for an invalid atom.
 */
uint32_t label_atom(struct labels *all, const char *text, size_t bytes);
const char *label_text(const struct labels *all, uint32_t atom);

/*
 * label_set(): return the set that contains only @atom.
 * label_is_subset(): return whether each atom of @a is also in @b.
 * label_nth(): return the atom of @set at index @n; 0 after the last atom, and always for
 * LABEL_ALL.
 * Returns: LABEL_FAILED if memory is exhausted. This value equals LABEL_ALL, so call
 * labels_has_failed() to tell them apart.
 */
uint32_t label_set(struct labels *all, uint32_t atom);
uint32_t label_union(struct labels *all, uint32_t a, uint32_t b);
uint32_t label_intersection(struct labels *all, uint32_t a, uint32_t b);
bool label_is_subset(const struct labels *all, uint32_t a, uint32_t b);
uint32_t label_nth(const struct labels *all, uint32_t set, size_t n);

/*
 * label_intern(): return the id of a label. Returns: LABEL_FAILED if memory is exhausted.
 * label_get(): return the label with the id @id. For LABEL_FAILED this is the top of the lattice.
 */
uint32_t label_intern(struct labels *all, const struct label *label);
struct label label_get(const struct labels *all, uint32_t id);

/* Return the least upper bound of two labels. Results are cached. Returns: LABEL_FAILED if
 * memory is exhausted. */
uint32_t label_join(struct labels *all, uint32_t a, uint32_t b);
/* Return the label of a result that is computed from a value with the label @id. Each origin
 * becomes a giver, because the result may contain data of each origin. The endorsements are
 * removed, unless they are LABEL_ALL. */
uint32_t label_made(struct labels *all, uint32_t id);
/* Return the label that a selection adds to the selected value. @id is the label of the value
 * that selects, such as the label of i in x[i]. Each origin of @id becomes a chooser: its data
 * decides which element is selected, but is not in the element. */
uint32_t label_choice(struct labels *all, uint32_t id);
/*
 * Return the label of a text that is composed of pieces, such as an f-string. @id is the join of
 * the labels of the pieces. A giver is an origin whose data is in the value; a chooser is an origin
 * whose data only selected the value. There are three cases:
 * - All pieces are constants (KIND_CONST). The result is label_made(@id).
 * - Some piece is itself a composed text. The new text may then contain any information. So each
 *   origin becomes a giver, and the kind becomes KIND_TEXT.
 * - No piece is a composed text. Then each chooser remains a chooser. A kind up to KIND_NUMBER
 *   remains, too; a higher kind becomes KIND_TEXT.
 */
uint32_t label_composed(struct labels *all, uint32_t id);
/* Return the givers of the label @id: the set of its origins without its choosers. Data of a
 * giver is in the value, data of a chooser only selected the value. */
uint32_t label_givers(struct labels *all, uint32_t id);
/* kind_join(): return the least upper bound of two kinds. kind_is_below(): return whether @a is
 * below or equal to @b. */
struct kind kind_join(struct kind a, struct kind b);
bool kind_is_below(struct kind a, struct kind b);
