/* Handling of notifications and requests that a server sends. SPDX-License-Identifier:
 * Apache-2.0 */
#include "base/json.h"
#include "base/timer.h"
#include "tool/inside.h"

#include <errno.h>
#include <string.h>

enum { RPC_NO_METHOD = -32601, QUESTIONS_MAX = 16 };

/* ---- notifications from the server ---- */

static void on_progress(struct mcp_client *c, const json_t *params)
{
	const json_t *token = json_object_get(params, "progressToken");
	if (!json_is_integer(token))
		return;
	for (struct mcp_call *call = c->calls; call; call = call->next) {
		if (call->id != json_integer_value(token) || call->is_own)
			continue;
		call->heard_ms = timer_now();
		if (c->config.on_progress)
			c->config.on_progress(c->config.arg, c->config.server, params);
		return;
	}
}

static void on_changed(struct mcp_client *c, const json_t *params)
{
	(void)params;
	/* Before the handshake has succeeded, no list of tools was requested, so nobody needs
	 * the news. */
	if (c->config.on_tools_changed && c->state == CLIENT_READY)
		c->config.on_tools_changed(c->config.arg, c->config.server);
}

static const struct {
	const char *method;
	void (*hear)(struct mcp_client *c, const json_t *params);
} notices[] = {
	{"notifications/progress", on_progress},
	{"notifications/tools/list_changed", on_changed},
};

/* ---- requests from the server ---- */

/* Handles a request. Returns: the result; NULL if the request is not supported. */
typedef json_t *request_fn(struct mcp_client *c, const json_t *params);

static json_t *on_ping(struct mcp_client *c, const json_t *params)
{
	(void)c;
	(void)params;
	return json_object();
}

static json_t *on_roots(struct mcp_client *c, const json_t *params)
{
	(void)c;
	(void)params;
	return json_pack("{s:[]}", "roots");
}

static json_t *on_elicitation(struct mcp_client *c, const json_t *params)
{
	json_t *answer =
		c->config.ask ? c->config.ask(c->config.arg, c->config.server, params) : NULL;
	return answer ? answer : json_pack("{s:s}", "action", "decline");
}

static const struct {
	const char *method;
	request_fn *answer;
} requests[] = {
	{"ping", on_ping},
	{"roots/list", on_roots},
	{"elicitation/create", on_elicitation},
};

static json_t *answer_to(struct mcp_client *c, const json_t *request)
{
	const char *method = json_string_value(json_object_get(request, "method"));
	for (size_t i = 0; method && i < ARRAY_LEN(requests); i++)
		if (strcmp(requests[i].method, method) == 0)
			return requests[i].answer(c, json_object_get(request, "params"));
	return NULL;
}

void client_hear(struct mcp_client *c, const json_t *message)
{
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *id = json_object_get(message, "id"),
		     *params = json_object_get(message, "params");
	struct err err = {0};
	if (!json_is_string(id) && !json_is_integer(id)) {
		for (size_t i = 0; method && i < ARRAY_LEN(notices); i++)
			if (strcmp(notices[i].method, method) == 0)
				notices[i].hear(c, params);
		return;
	}
	json_t *result = answer_to(c, message);
	/* The callback ask() may have closed the client. */
	if (c->is_closed || !c->link) {
		json_decref(result);
		return;
	}
	json_t *answer = result ? json_pack("{s:O, s:o}", "id", id, "result", result)
				: json_pack("{s:O, s:{s:i, s:s}}", "id", id, "error", "code",
					  RPC_NO_METHOD, "message", "retort does not offer this");
	if (client_send(c, NULL, answer, &err) < 0)
		client_fail(c, &err);
}

/* ---- requests inside a result "input_required" ---- */

static json_t *answer_all(struct mcp_client *c, const json_t *questions)
{
	json_t *answers = json_need(json_object()), *question;
	const char *key;
	/* A request of an unsupported kind is left without an answer: we have not declared that
	 * capability. */
	json_object_foreach(json_unconst(questions), key, question)
	{
		json_put_new(answers, key, answer_to(c, question));
	}
	return answers;
}

int client_ask(struct mcp_call *call, const json_t *result, struct err *err)
{
	struct mcp_client *c = call->client;
	const json_t *questions = json_object_get(result, "inputRequests");
	json_t *state = json_object_get(result, "requestState");
	if (call->rounds++ == MCP_ROUNDS_MAX)
		return err_set(err, ERR_LIMIT, "it asks too many questions");
	if (questions &&
		(!json_is_object(questions) || json_object_size(questions) > QUESTIONS_MAX))
		return err_set(err, ERR_PROTOCOL, "its question is malformed");
	json_t *answers = answer_all(c, questions);
	if (c->is_closed || !c->link) {
		/* If the client or its link was closed while answer_all() was running, @call
		 * was freed, too. So do not use @call here. */
		json_decref(answers);
		return 0;
	}
	json_put_new(call->params, "inputResponses", answers);
	(void)json_object_del(call->params, "requestState");
	json_put_shared(call->params, "requestState", state);
	return client_post(c, call, err);
}
