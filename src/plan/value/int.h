/* Integers of any size, and arithmetic of numbers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* Limits: an int of more bits is an error, so that no operation takes minutes. */
enum { INT_MAX_BITS = 1 << 20 };

struct big {
	int32_t size;	 /* number of elements of `limb`; negative for a negative number */
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
 * Compute @a op @b for two numbers: ints of any size, or floats if the operation is defined for
 * floats. Returns: 0; -1 with the failure set; 1 if the operation is not defined for the types.
 */
int num_op(struct heap *h, enum num_op op, struct val a, struct val b, struct val *out);

/* Is @v an int? Compute -@v and ~@v; return the sign of @v (-1, 0 or 1). Returns: 0 or -1. */
bool val_is_int(struct val v);
int int_negate(struct heap *h, struct val v, struct val *out);
int int_invert(struct heap *h, struct val v, struct val *out);
int int_sign(struct val v);

/*
 * Read digits of @base (2 to 36), without sign, prefix or "_".
 * Returns: 0; 1 if the text is not a number; -1 with the failure set.
 */
int int_parse(struct heap *h, const char *text, size_t bytes, int base, struct val *out);

/* Write an int in @base 2, 8, 10 or 16, in lower case, with "-" if it is negative. Returns: 0 or
 * -1. */
struct text;
int int_write(struct text *t, struct val v, int base);

/* Convert a number to the nearest float. Returns: 0; -1 if it is too large. */
int int_to_float(struct heap *h, struct val v, double *out);

/* Convert the integral part of a float to an int. Returns: 0; -1 if @f is not finite. */
int int_from_float(struct heap *h, double f, struct val *out);

/* Compare two numbers exactly, also an int with a float. NaN is above all numbers and equal to
 * itself. */
int num_compare(struct val a, struct val b);
uint64_t int_hash(const struct heap *h, struct val v);
