/* The compiler: from the resolved tree to code. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/resolve.h"
#include "plan/value/function.h"

enum op {
#define X(name, a, b, c) OP_##name,
#include "plan/machine/op.def"
	N_OPS
};

enum { NO_FORMAT = UINT16_MAX }; /* format operand of OP_FORMAT: no format specification */

/* The labels of literals. */
struct literals {
	void *ctx;
	uint32_t (*label)(void *ctx, struct val literal);
	uint32_t number[4]; /* labels that an instruction names by index; [0] is label 0 */
	/* The number_bit()s of the request: only computed numbers with one of these bits may be the
	 * user's. */
	uint64_t numbers;
};

/*
 * Compile a file. Its first registers are the globals. @literals is NULL if values carry no labels.
 * Returns: the code; NULL if a limit is exceeded or memory is exhausted.
 */
struct code *compile_file(struct heap *h, const struct node *file, const struct dialect *dialect,
	struct literals *literals);
