/* From the resolved tree to code. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/syntax/resolve.h"
#include "plan/value/function.h"

enum op {
#define X(name, a, b, c) OP_##name,
#include "plan/machine/op.def"
	N_OPS
};

enum { NO_FORMAT = UINT16_MAX }; /* of OP_FORMAT */

/* The labels of literals. */
struct literals {
	void *ctx;
	uint32_t (*label)(void *ctx, struct val literal);
	uint32_t number[4]; /* the labels that instructions with a number may name; [0] is 0 */
	/* The number_bit()s of the request: only such computed numbers may be the user's. */
	uint64_t numbers;
};

/*
 * The code of a file; its registers begin with the globals. @literals: NULL without labels.
 * Returns: NULL over a limit.
 */
struct code *compile_file(struct heap *h, const struct node *file, const struct dialect *dialect,
	struct literals *literals);
