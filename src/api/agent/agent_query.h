/* Questions that the code of an agent puts to a model: retort.llm_query. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/query/query.h"
#include "api/gate/gate.h"
#include "api/operation/operation.h"

/* Starts as zeros. */
struct agent_query {
	struct queries *queries; /* NULL: code may not ask */
	struct wire *wire;	 /* the model of `query_model`; NULL: the agent's own */
	uint64_t count, prompt_bytes;
};

struct agent_query_config {
	const struct operation_context *context;
	const json_t *params; /* of agent.run */
	struct wire *wire;    /* the agent's; outlives it */
	struct query_hooks hooks;
};

/*
 * Code may ask if the task has long inputs, or parameters that concern queries.
 * Owns:    agent_query_close(), also after an error.
 * Errors:  those of models_choose(), wire_open().
 */
int agent_query_open(
	struct agent_query *q, const struct agent_query_config *config, struct err *err);

/* Answer questions from code in @session, until gate_detach(@handler), which follows
 * agent_query_close(). */
void agent_query_attach(struct agent_query *q, struct gate *gate, const char *session,
	struct gate_handler *handler);

/* Answer no more questions. */
void agent_query_close(struct agent_query *q);
