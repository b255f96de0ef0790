/* Approvals of a run's tool calls. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate_handler.h"

struct run;

struct run_asking {
	struct gate *gate; /* NULL: calls that need an approval are denied */
	struct gate_handler handler;
	json_t *open; /* pending approvals; NULL while the step does not run */
};

/* Begin to ask when the step begins; stop when it ends. */
void run_ask_begin(struct run *run);
void run_ask_end(struct run *run);
