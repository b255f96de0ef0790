/* What the code of an agent asks a model: retort.llm_query. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/query/query.h"
#include "api/gate/gate.h"
#include "api/operation/operation.h"

/* Starts as zeros. */
struct agent_query {
	struct queries *queries; /* NULL: nothing can be asked */
	struct wire *wire;	 /* of its own; NULL: the agent's */
	uint64_t count, prompt_bytes;
};

struct agent_query_config {
	const struct operation_context *context;
	const json_t *params; /* of agent.run */
	struct wire *wire;    /* the agent's; outlives it */
	struct query_hooks hooks;
};

/*
 * There are queries when the task has long inputs, or its parameters speak of queries.
 * Owns:    agent_query_close(), also after an error.
 * Errors:  those of models_choose(), wire_open().
 */
int agent_query_open(
	struct agent_query *q, const struct agent_query_config *config, struct err *err);

/* Answer what code in @session asks, until gate_detach(@handler): after agent_query_close(). */
void agent_query_attach(struct agent_query *q, struct gate *gate, const char *session,
	struct gate_handler *handler);

/* Nothing is answered any more. */
void agent_query_close(struct agent_query *q);
