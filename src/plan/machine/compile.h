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

/* Whose the literals are, when values carry labels. */
struct literals {
	void *ctx;
	uint32_t (*label)(void *ctx, struct val literal);
	uint32_t number[4]; /* labels of small numbers, as instructions name them; [0] is 0 */
	/* Computed numbers that need to be asked about: those with a number_bit() in it. */
	uint64_t numbers;
};

/*
 * The code of a file; its registers begin with the globals. @literals: NULL without labels.
 * Returns: NULL over a limit.
 */
struct code *compile_file(struct heap *h, const struct node *file, const struct dialect *dialect,
	struct literals *literals);
