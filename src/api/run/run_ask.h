/* What calls of a run ask. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate_handler.h"

struct run;

struct run_asking {
	struct gate *gate; /* its calls may ask; NULL: they may not */
	struct gate_handler handler;
	json_t *open; /* approvals that are not decided; NULL while the step does not run */
};

/* While the step runs. */
void run_ask_begin(struct run *run);
void run_ask_end(struct run *run);
