/* Ask a client to approve a run's tool calls. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate_handler.h"

struct run;

struct run_asking {
	struct gate *gate; /* NULL: calls that need approval are denied */
	struct gate_handler handler;
	json_t *open; /* questions that wait for a decision; NULL while the step does not run */
};

/* Begin to ask the client when a tool call of the run needs approval. Called when the step of the
 * run begins. If run->asking.gate is NULL, do nothing. */
void run_ask_begin(struct run *run);
/* Stop asking the client to approve tool calls of the run, and drop the questions that have no
 * decision yet. Called when the step of the run has ended. */
void run_ask_end(struct run *run);
