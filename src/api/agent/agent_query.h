/* Requests to a model that an agent's code makes by calling retort.llm_query().
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/query/query.h"
#include "api/gate/gate.h"
#include "api/operation/operation.h"

/* State of the model requests of one agent. Initialize with zeros. */
struct agent_query {
	struct queries *queries; /* NULL: code may not call a model */
	struct wire *wire;	 /* the model that `query_model` names; NULL: the agent's own */
	uint64_t count, prompt_bytes;
};

struct agent_query_config {
	const struct operation_context *context;
	const json_t *params; /* parameters of agent.run */
	struct wire *wire;    /* the agent's own model; used until agent_query_close() */
	struct query_hooks hooks;
};

/*
 * Allow requests if the task has the parameter `context`, `query_model` or `max_queries`. Otherwise
 * every call of llm_query is denied.
 * Owns:    the caller calls agent_query_close(), also after an error.
 * Errors:  those of models_choose(), wire_open().
 */
int agent_query_open(
	struct agent_query *q, const struct agent_query_config *config, struct err *err);

/* Make @handler answer the llm_query calls of code in @session. To end this, call
 * agent_query_close(), and then gate_detach(@handler). */
void agent_query_attach(struct agent_query *q, struct gate *gate, const char *session,
	struct gate_handler *handler);

/* End all requests. Later calls of llm_query are denied. */
void agent_query_close(struct agent_query *q);
