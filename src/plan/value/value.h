/* Values of 16 bytes each; larger data is in the heap. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/heap.h"

/* The type of a value. The order of the types matters: a value of a type before T_BIG fits into
 * struct val. A value of T_BIG or a later type is a pointer into the heap. */
enum type {
	T_UNSET, /* a variable before its first assignment, or a missing argument */
	T_NONE,
	T_BOOL,
	T_INT, /* fits in 64 bits; larger ints are T_BIG */
	T_FLOAT,
	T_BIG,
	T_STRING,
	T_BYTES,
	T_LIST,
	T_TUPLE,
	T_DICT,
	T_SET,
	T_RANGE,
	T_FUNCTION,
	T_NATIVE,
	T_BOUND, /* a method bound to its receiver, such as the value of x.append */
	T_ELEMS,
	T_STRUCT,
	T_CELL, /* a variable that nested functions capture; plans never see a cell itself */
	N_TYPES,
};

struct val {
	uint32_t type; /* enum type */
	/* Label of the value; 0 is the label of trusted constants. For a list, dict or set, this
	 * label says who chose the object, and the object has another label for its structure. */
	uint32_t label;
	union {
		int64_t i; /* value of T_INT; 0 or 1 for T_BOOL */
		double f;
		struct big *big;
		struct str *str; /* T_STRING, T_BYTES */
		struct list *list;
		struct tuple *tuple;
		struct table *table; /* T_DICT, T_SET */
		struct range *range;
		struct function *function;
		const struct native *native;
		struct bound *bound;
		struct elems *elems;
		struct record *record;
		struct cell *cell;
		void *p;
	};
};

#define VAL_UNSET	((struct val){.type = T_UNSET})
#define VAL_NONE	((struct val){.type = T_NONE})
#define VAL_BOOL(b)	((struct val){.type = T_BOOL, .i = (b) ? 1 : 0})
#define VAL_INT(n)	((struct val){.type = T_INT, .i = (n)})
#define VAL_FLOAT(x)	((struct val){.type = T_FLOAT, .f = (x)})
#define VAL_PTR(t, ptr) ((struct val){.type = (t), .p = (ptr)})

/* A string or bytes. The characters of a string are code points; its bytes are always valid
 * UTF-8. */
struct str {
	uint32_t hash; /* hash of the content; 0 if it is not computed yet */
	uint32_t n_bytes, n_chars;
	/* 1 if this struct str is the first member of a struct str_shared, whose text is in a
	 * buffer that several strings share, see str.c; otherwise 0 */
	uint32_t has_room;
	const char *data;
};

struct list {
	struct val *item;
	uint32_t n, room;
	uint32_t n_iterators;
	uint32_t is_frozen : 1;
	/* number of the last walk over labels that visited this list, see was_here() in
	 * machine/flow.c */
	uint32_t mark : 31;
	/* @label is the label of the structure (length and order). @seen is the epoch in which
	 * the structure was last used. */
	uint32_t label, seen;
	uint32_t guard; /* guard at the time when the list was created */
};

struct tuple {
	uint32_t n;
	uint32_t mark;
	struct val item[];
};

struct range {
	int64_t start, stop, step;
	int64_t n;
};

/*
 * What an iteration over the result of a method such as s.elems() yields:
 * ELEMS_CHARS, for s.elems(): strings of one character each.
 * ELEMS_ORDS, for s.elem_ords(): the code points of the characters.
 * ELEMS_BYTES, for b.elems() of bytes: the bytes, as ints.
 * ELEMS_POINTS, for s.codepoints(): strings of one character each.
 * ELEMS_POINT_ORDS, for s.codepoint_ords(): the code points of the characters.
 * The results of s.codepoints() and s.codepoint_ords() can only be iterated over: they have no
 * len(), and x[i] fails.
 */
enum elems_kind { ELEMS_CHARS, ELEMS_ORDS, ELEMS_BYTES, ELEMS_POINTS, ELEMS_POINT_ORDS };

struct elems {
	struct str *str;
	enum elems_kind kind;
};

struct bound {
	struct val self;
	const struct native *native;
};

struct cell {
	struct val value;
};

/* A struct: named fields in the order in which they were given. */
struct record {
	struct val constructor; /* name of the constructor, a string */
	uint32_t n;
	bool is_frozen;
	uint32_t mark;
	struct val *names; /* names of the fields, as strings */
	struct val *values;
};

/* Return the name that type() returns, such as "NoneType" or "int". */
const char *type_name(uint32_t type);
const char *val_type_name(struct val v);

/* Return whether a value is true. None, False, zero, and empty strings and containers are false. */
bool val_truth(struct val v);

/* Compare two values for equality. Returns: 1 if equal; 0 if not; -1 with the failure set if they
 * are nested too deeply. */
int val_equal(struct heap *h, struct val a, struct val b);

/* Order two numbers, or two values of the same type. *order becomes negative, 0 or positive.
 * Returns: 0; -1 with the failure set, for example for types without an order. */
int val_compare(struct heap *h, struct val a, struct val b, int *order);

/* Hash a value. Equal values have equal hashes, which depend on the seed. Returns: 0; -1 if not
 * hashable. */
int val_hash(struct heap *h, struct val v, uint64_t *hash);

/* Freeze everything reachable from @v, so that a later change is an error. Returns: 0; -1 if nested
 * too deeply. */
int val_freeze(struct heap *h, struct val v);

/* Return len(v). Returns: -1, without setting a failure, if the type has no length. */
int64_t val_len(struct val v);

/* tuple_new(): create a tuple of @n unset values. list_new(): create an empty list with space
 * for @room values. list_append(): append a value to a list. Returns: 0; -1 if the limit is
 * exceeded. */
int tuple_new(struct heap *h, size_t n, struct val *out);
int list_new(struct heap *h, size_t room, struct val *out);
int list_append(struct heap *h, struct list *list, struct val v);

/* Allocate space for @n more elements of the list. Returns: 0 or -1. */
int list_reserve(struct heap *h, struct list *list, size_t n);

/* Check that the list may be changed now: it must not be frozen, and no loop may iterate over it.
 * Returns: 0; -1 with the failure set. */
int list_check(struct heap *h, const struct list *list);
