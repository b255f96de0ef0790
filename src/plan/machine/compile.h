/* The compiler: translate the resolved tree to code. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/resolve.h"
#include "plan/value/function.h"

enum op {
#define X(name, a, b, c) OP_##name,
#include "plan/machine/op.def"
	N_OPS
};

/* The value of operand c of OP_FORMAT if a piece of an f-string has no format specification. For
 * example, the piece {x} has none, while {x:.2f} has the format specification ".2f". */
enum { NO_FORMAT = UINT16_MAX };

/* How the compiler labels literals. */
struct literals {
	void *ctx;
	uint32_t (*label)(void *ctx, struct val literal);
	/* OP_INT and OP_ADD_INT contain no label, but the index of a label in this table.
	 * number[0] is always the label 0. */
	uint32_t number[4];
	/* A Bloom filter of the numbers in the request, see number_bit(). If the filter does not
	 * contain a computed number, this number is certainly not in the request. */
	uint64_t numbers;
};

/*
 * Compile a file. The first registers of its code are the global variables. @literals is NULL if
 * values carry no labels.
 * Returns: the code; NULL if a limit is exceeded or memory is exhausted.
 */
struct code *compile_file(struct heap *h, const struct node *file, const struct dialect *dialect,
	struct literals *literals);
