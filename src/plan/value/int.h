/* Integers of any size, and arithmetic on numbers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* Limits: the largest size of an int. A larger result is an error, so that no operation takes
 * minutes. */
enum { INT_MAX_BITS = 1 << 20 };

struct big {
	int32_t size;	 /* number of elements of `limb`, negated for a negative number */
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

/* Compute "@a @op @b" for two numbers, each an int of any size or a float. Returns: 0; -1 with the
 * failure set; 1 if the operation is not defined for these types. */
int num_op(struct heap *h, enum num_op op, struct val a, struct val b, struct val *out);

/* val_is_int(): return whether @v is an int. int_negate(): compute -@v. int_invert(): compute ~@v.
 * Both return 0 or -1. int_sign(): return the sign of the int @v: -1, 0 or 1. */
bool val_is_int(struct val v);
int int_negate(struct heap *h, struct val v, struct val *out);
int int_invert(struct heap *h, struct val v, struct val *out);
int int_sign(struct val v);

/*
 * Convert a text of digits in @base (2 to 36) to an int. The text must not have a sign, a prefix
 * such as "0x", or "_".
 * Returns: 0; 1 if the text is not a number; -1 with the failure set.
 */
int int_parse(struct heap *h, const char *text, size_t bytes, int base, struct val *out);

/* Append an int to a text in @base 2, 8, 10 or 16, in lower case, with "-" if it is negative.
 * Returns: 0 or -1. */
struct text;
int int_write(struct text *t, struct val v, int base);

/* Convert a number to the nearest float. Returns: 0; -1 if the number is too large. */
int int_to_float(struct heap *h, struct val v, double *out);

/* Convert a float to an int by cutting off the fraction. Returns: 0; -1 if @f is not finite. */
int int_from_float(struct heap *h, double f, struct val *out);

/* Compare two numbers without rounding, even an int with a float. NaN is greater than all numbers
 * and equal to itself. Returns: a negative value, 0 or a positive value. */
int num_compare(struct val a, struct val b);
uint64_t int_hash(const struct heap *h, struct val v);
