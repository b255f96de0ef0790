/* Ask a client to approve a run's tool calls. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate_handler.h"

struct run;

struct run_asking {
	struct gate *gate; /* NULL: calls that need approval are denied */
	struct gate_handler handler;
	json_t *open; /* questions that wait for a decision; NULL while the step does not run */
};

/* run_ask_begin(): called when the step begins. run_ask_end(): called when it has ended. */
void run_ask_begin(struct run *run);
void run_ask_end(struct run *run);
