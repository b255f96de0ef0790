/* Requests of an agent's code to a model: retort.llm_query. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/query/query.h"
#include "api/gate/gate.h"
#include "api/operation/operation.h"

/* The model requests of one agent; all zeros at first. */
struct agent_query {
	struct queries *queries; /* NULL: code may not call a model */
	struct wire *wire;	 /* model named by `query_model`; NULL: the agent's own model */
	uint64_t count, prompt_bytes;
};

struct agent_query_config {
	const struct operation_context *context;
	const json_t *params; /* parameters of agent.run */
	struct wire *wire;    /* the agent's model; must outlive this */
	struct query_hooks hooks;
};

/*
 * Let the code call a model if the task has `context`, or parameters that concern queries.
 * Owns:    agent_query_close(), also after an error.
 * Errors:  those of models_choose(), wire_open().
 */
int agent_query_open(
	struct agent_query *q, const struct agent_query_config *config, struct err *err);

/* Answer llm_query calls of code in @session until gate_detach(@handler), which must follow
 * agent_query_close(). */
void agent_query_attach(struct agent_query *q, struct gate *gate, const char *session,
	struct gate_handler *handler);

/* End all requests; later calls are denied. */
void agent_query_close(struct agent_query *q);
