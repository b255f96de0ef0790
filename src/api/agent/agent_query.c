/* SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/agent_query.h"

#include "agent/loop/loop.h"
#include "api/agent/models.h"
#include "api/row/param.h"
#include "session/tool_call.h"

#include <string.h>

#define LLM_QUERY "retort.llm_query"

static bool is_wanted(const json_t *params)
{
	return json_array_size(param_get(params, "context")) > 0 ||
		param_get(params, "query_model") || param_get(params, "max_queries");
}

static int open_wire(
	struct agent_query *q, const struct agent_query_config *config, struct err *err)
{
	const struct models *models = config->context->models;
	const char *spec = param_text(config->params, "query_model", NULL);
	struct wire_config wire = {.key_file = models ? models->key_file : NULL};
	if (!spec)
		return 0;
	int r = models_choose(models, "query_model", spec, &wire.spec, err);
	if (r < 0)
		return r;
	r = wire_open(&q->wire, config->context->loop, &wire, err);
	return r < 0 ? err_wrap(err, "query_model") : r;
}

int agent_query_open(
	struct agent_query *q, const struct agent_query_config *config, struct err *err)
{
	const json_t *params = config->params;
	uint64_t tokens = param_count(params, "context_tokens", LOOP_CONTEXT_TOKENS);
	uint64_t most = QUERY_PROMPT_BYTES_MAX / QUERY_TOKEN_BYTES;
	q->count = is_wanted(params) && config->context->gate
		? param_count(params, "max_queries", QUERY_COUNT)
		: 0;
	q->prompt_bytes = MIN(tokens, most) * QUERY_TOKEN_BYTES;
	if (q->count == 0)
		return 0;
	int r = open_wire(q, config, err);
	const struct queries_config queries = {.wire = q->wire ? q->wire : config->wire,
		.count = q->count,
		.prompt_bytes = q->prompt_bytes,
		.hooks = config->hooks};
	if (r == 0)
		q->queries = queries_open(&queries);
	return r;
}

static void on_answer(void *arg, json_t *answer)
{
	gate_answer(arg, answer);
}

static bool on_call(void *arg, struct gate_call *call)
{
	struct agent_query *q = arg;
	if (strcmp(gate_call_name(call), LLM_QUERY) != 0)
		return false;
	if (q->queries)
		queries_ask(q->queries, gate_call_arguments(call), on_answer, call);
	else
		gate_answer(call,
			tool_call_error("ToolDenied", "llm_query: this task may not ask a model",
				"solve it by code; the person who runs the agent can allow "
				"queries"));
	return true;
}

static void on_cancel(void *arg, struct gate_call *call)
{
	struct agent_query *q = arg;
	if (q->queries)
		queries_cancel(q->queries, call);
}

void agent_query_attach(
	struct agent_query *q, struct gate *gate, const char *session, struct gate_handler *handler)
{
	*handler = (struct gate_handler){.arg = q, .call = on_call, .cancel = on_cancel};
	if (gate)
		gate_attach(gate, session, handler);
}

void agent_query_close(struct agent_query *q)
{
	queries_close(q->queries);
	if (q->wire)
		wire_close(q->wire);
	q->queries = NULL;
	q->wire = NULL;
}
