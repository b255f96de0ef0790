/* Whole numbers of any size, and arithmetic of numbers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* Limits: an int of more bits is an error, so that no operation takes minutes. */
enum { INT_MAX_BITS = 1 << 20 };

struct big {
	int32_t size;	 /* of `limb`; negative for a negative number */
	uint64_t limb[]; /* least significant first */
};

enum num_op {
	NUM_ADD,
	NUM_SUB,
	NUM_MUL,
	NUM_DIV,
	NUM_FLOORDIV,
	NUM_MOD,
	NUM_POW,
	NUM_AND,
	NUM_OR,
	NUM_XOR,
	NUM_SHL,
	NUM_SHR,
};

/*
 * @a op @b for two numbers: ints of any size, or floats if the operation is defined for them.
 * Returns: 0, -1 with the failure set, 1: the operation is not defined for the types.
 */
int num_op(struct heap *h, enum num_op op, struct val a, struct val b, struct val *out);

/* Of an int: is it one, minus it, its bits inverted, -1, 0 or 1. Returns: 0 or -1. */
bool val_is_int(struct val v);
int int_negate(struct heap *h, struct val v, struct val *out);
int int_invert(struct heap *h, struct val v, struct val *out);
int int_sign(struct val v);

/*
 * Read digits of @base (2 to 36), without sign, prefix or "_".
 * Returns: 0, 1: not a number, -1 with the failure set.
 */
int int_parse(struct heap *h, const char *text, size_t bytes, int base, struct val *out);

/* Write in @base 2, 8, 10 or 16, lower case, with "-" when negative. Returns: 0 or -1. */
struct text;
int int_write(struct text *t, struct val v, int base);

/* Rounded to the nearest float. Returns: 0, or -1: too large. */
int int_to_float(struct heap *h, struct val v, double *out);

/* The integral part. Returns: 0, or -1: not finite. */
int int_from_float(struct heap *h, double f, struct val *out);

/* Exact, ints and floats mixed; NaN is above all and equal to itself. */
int num_compare(struct val a, struct val b);
uint64_t int_hash(const struct heap *h, struct val v);
