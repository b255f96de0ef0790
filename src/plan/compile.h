/* From the resolved tree to code. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/function.h"
#include "plan/resolve.h"

enum op {
#define X(name) OP_##name,
#include "plan/op.def"
	N_OPS
};

/* The code of a file; its registers begin with the globals. Returns: NULL over a limit. */
struct code *compile_file(struct heap *h, const struct node *file, const struct dialect *dialect);
