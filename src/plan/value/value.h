/* Values of 16 bytes each; larger data is in the heap. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/heap.h"

/* The type of a value. The order matters: values of types before T_BIG are complete in their 16
 * bytes. */
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
	T_BOUND, /* a method with its receiver */
	T_ELEMS,
	T_STRUCT,
	T_CELL, /* a variable that nested functions capture; never a value of the language */
	N_TYPES,
};

struct val {
	uint32_t type;	/* enum type */
	uint32_t label; /* 0: trusted constant; list, dict, set: label of its choice */
	union {
		int64_t i; /* T_INT; T_BOOL: 0 or 1 */
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

/* A string or bytes. Characters of a string are code points, and its bytes are always valid UTF-8.
 */
struct str {
	uint32_t hash; /* 0: not computed yet */
	uint32_t n_bytes, n_chars;
	uint32_t has_room; /* the string is the head of a struct str_shared, see str.c */
	const char *data;
};

struct list {
	struct val *item;
	uint32_t n, room;
	uint32_t n_iterators;
	uint32_t is_frozen : 1;
	uint32_t mark : 31; /* stamp of the last walk that visited the list, see flow.c */
	uint32_t label,
		seen;	/* label of the structure (length, keys, order); epoch of the last use */
	uint32_t guard; /* the guard under which the list was created */
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

/* The elements of a string or bytes. Code points (ELEMS_POINTS…) can only be iterated; all others
 * also have a length and an index. */
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

/* Return the truth of a value. None, False, zero and empty values are false. */
bool val_truth(struct val v);

/* Compare two values. Returns: 1 if equal; 0 if not; -1 if nested too deeply. */
int val_equal(struct heap *h, struct val a, struct val b);

/* Compare the order of two values of one kind; *order is negative, 0 or positive. Returns: 0 or -1.
 */
int val_compare(struct heap *h, struct val a, struct val b, int *order);

/* Hash a value. Equal values have equal hashes, which depend on the seed. Returns: 0; -1 if not
 * hashable. */
int val_hash(struct heap *h, struct val v, uint64_t *hash);

/* Freeze everything reachable from @v. Returns: 0; -1 if nested too deeply. */
int val_freeze(struct heap *h, struct val v);

/* Return len(v). Returns: -1, without setting a failure, if the type has no length. */
int64_t val_len(struct val v);

/* Create an empty tuple or list, or append to a list. Returns: 0; -1 if the limit is exceeded. */
int tuple_new(struct heap *h, size_t n, struct val *out);
int list_new(struct heap *h, size_t room, struct val *out);
int list_append(struct heap *h, struct list *list, struct val v);

/* Make room for @n more elements. Returns: 0 or -1. */
int list_reserve(struct heap *h, struct list *list, size_t n);

/* May the list be changed now? Returns: 0; -1 with the failure set if it is frozen or being
 * iterated. */
int list_check(struct heap *h, const struct list *list);
