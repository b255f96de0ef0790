/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/inside.h"

#include "base/attr.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_TEXT_BYTES = 24, NAME_BYTES = 64 };

/* ---- access to the request ---- */

void *mcp_call_arg(const struct mcp_call *call)
{
	return call->server->config.arg;
}

enum mcp_era mcp_call_era(const struct mcp_call *call)
{
	return call->era;
}

const char *mcp_call_version(const struct mcp_call *call)
{
	return call->version;
}

const struct operation_context *mcp_call_context(const struct mcp_call *call, struct err *err)
{
	const struct mcp_peer *p = call->peer;
	if (p && p->config.context)
		return p->config.context;
	if (p && p->config.open)
		return p->config.open(p->config.open_arg, err);
	(void)err_set(err, ERR_INTERNAL, p ? "no engine" : "the caller is gone");
	return NULL;
}

const json_t *mcp_call_params(const struct mcp_call *call)
{
	return call->params;
}

const char *mcp_call_name(const struct mcp_call *call)
{
	return call->name ? call->name : "";
}

const json_t *mcp_call_arguments(const struct mcp_call *call)
{
	return call->arguments;
}

const char *mcp_call_match(const struct mcp_call *call)
{
	return call->match;
}

bool mcp_call_can(const struct mcp_call *call, const char *capability)
{
	char name[NAME_BYTES];
	const json_t *at = call->capabilities;
	/* A client may say that it shows links only, not forms. */
	bool is_forms = strcmp(capability, "elicitation") == 0;
	while (at && *capability) {
		size_t n = strcspn(capability, ".");
		if (n >= sizeof name)
			return false;
		snprintf(name, sizeof name, "%.*s", (int)n, capability);
		at = json_object_get(at, name);
		capability += n + (capability[n] == '.');
	}
	return json_is_object(at) &&
		(!is_forms || !json_object_get(at, "url") || json_object_get(at, "form"));
}

void mcp_call_on_cancel(struct mcp_call *call, void (*cancelled)(void *arg), void *arg)
{
	call->cancelled = cancelled;
	call->cancel_arg = arg;
}

const json_t *mcp_call_answers(const struct mcp_call *call)
{
	return call->answers;
}

const json_t *mcp_call_state(const struct mcp_call *call)
{
	return call->state;
}

/* ---- responding to the request ---- */

static void unlink_call(struct mcp_call *call)
{
	if (!call->peer)
		return;
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	call->peer->n_calls--;
	call->peer = NULL;
}

void mcp_call_free(struct mcp_call *call)
{
	unlink_call(call);
	json_decref(call->id);
	json_decref(call->params);
	json_decref(call->arguments);
	json_decref(call->asked);
	json_decref(call->answers);
	json_decref(call->state);
	free(call->match);
	free(call);
}

/* End the call with the response @message. The call is freed before @message is sent, because
 * sending may free the peer. If the call was cancelled, it has no output any more and @message is
 * dropped; see mcp_call_cancel(). */
static void finish(struct mcp_call *call, json_t *message)
{
	struct mcp_out out = call->out;
	struct mcp_batch *batch = call->batch;
	mcp_call_free(call);
	mcp_answer(&out, batch, message);
}

/* Add the members that results have in the modern era: resultType and serverInfo; for results that
 * clients may cache also ttlMs and cacheScope. */
static void dress(const struct mcp_call *call, json_t *result)
{
	const struct mcp_config *config = &call->server->config;
	json_t *meta = json_object_get(result, "_meta");
	if (!json_object_get(result, "resultType"))
		json_put_text(result, "resultType", "complete");
	if (!json_is_object(meta)) {
		meta = json_object();
		json_put_new(result, "_meta", meta);
	}
	json_put_new(meta, MCP_META "serverInfo", mcp_server_info(config));
	if (!call->method->is_cached || json_object_get(result, "inputRequests"))
		return;
	if (!json_object_get(result, "ttlMs"))
		json_put_int(result, "ttlMs", config->list_ttl_ms);
	if (!json_object_get(result, "cacheScope"))
		json_put_text(result, "cacheScope", "private");
}

void mcp_call_give(struct mcp_call *call, json_t *result)
{
	if (!result) {
		mcp_call_fail(call, MCP_INTERNAL, "no memory", NULL);
		return;
	}
	if (call->era == MCP_MODERN)
		dress(call, result);
	finish(call,
		json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", call->id, "result", result));
}

void mcp_call_fail(struct mcp_call *call, int code, const char *message, json_t *data)
{
	finish(call, mcp_error(call->id, code, message, data));
}

void mcp_call_refuse(struct mcp_call *call, const char *text)
{
	mcp_call_give(call,
		json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text",
			mcp_text(text, strlen(text)), "isError", 1));
}

/* Tell the client that it need not answer what it was asked. */
static void withdraw(struct mcp_call *call)
{
	cleanup_json json_t *asked = take_ptr(call->asked);
	struct mcp_out out = call->out;
	const char *id;
	json_t *key;
	json_object_foreach(asked, id, key)
	{
		json_t *params = json_pack("{s:I}", "requestId", (json_int_t)strtoll(id, NULL, 10));
		mcp_out_send(&out, mcp_notification("notifications/cancelled", params), false);
	}
}

/* The call waits for answers of the client, and no handler runs. Its handler is called once more,
 * to end what it has begun. */
static void abandon(struct mcp_call *call)
{
	struct mcp_out out = call->out;
	struct mcp_batch *batch = call->batch;
	withdraw(call);
	call->batch = NULL;
	call->out.send = NULL;
	call->is_abandoned = true;
	if (batch)
		mcp_answer(&out, batch, NULL);
	call->row->start(call);
}

bool mcp_call_is_abandoned(const struct mcp_call *call)
{
	return call->is_abandoned;
}

void mcp_call_cancel(struct mcp_call *call)
{
	struct mcp_out out = call->out;
	struct mcp_batch *batch = call->batch;
	bool is_ours = json_object_size(call->asked) > 0 || call->listens;
	if (json_object_size(call->asked) > 0 && call->state) {
		abandon(call);
		return;
	}
	unlink_call(call);
	call->batch = NULL;
	call->out.send = NULL;
	void (*cancelled)(void *arg) = call->cancelled;
	call->cancelled = NULL;
	if (batch)
		mcp_answer(&out, batch, NULL);
	if (is_ours)
		mcp_call_free(call);
	else if (cancelled)
		cancelled(call->cancel_arg);
}

/* ---- notifications during a call ---- */

bool mcp_call_has_progress(const struct mcp_call *call)
{
	return call->token && call->out.send;
}

static json_t *number(double n)
{
	bool is_whole = n > -1e15 && n < 1e15 && n == (double)(json_int_t)n;
	return is_whole ? json_integer((json_int_t)n) : json_real(n);
}

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message)
{
	if (!mcp_call_has_progress(call) || (call->has_progress && progress <= call->progress))
		return;
	call->has_progress = true;
	call->progress = progress;
	json_t *params = json_pack("{s:O, s:o}", "progressToken", json_unconst(call->token),
		"progress", number(progress));
	if (total >= 0)
		json_put_new(params, "total", number(total));
	/* The member "message" exists since revision 2025-03-26. Older clients ignore it. */
	if (message)
		json_put_new(params, "message", mcp_text(message, strlen(message)));
	mcp_out_send(&call->out, mcp_notification("notifications/progress", params), false);
}

void mcp_call_log(struct mcp_call *call, const char *level, const char *logger, json_t *data)
{
	int min = call->era == MCP_MODERN ? call->log_level
		: call->peer		  ? call->peer->log_level
					  : -1;
	bool is_wanted = call->era == MCP_MODERN ? min >= 0 && mcp_level(level) >= min
						 : mcp_level(level) >= min;
	if (!is_wanted || !call->out.send) {
		json_decref(data);
		return;
	}
	json_t *params =
		json_pack("{s:s, s:s*, s:o}", "level", level, "logger", logger, "data", data);
	mcp_out_send(&call->out, mcp_notification("notifications/message", params), false);
}

/* ---- requests to the client ---- */

static const char *needed_for(const char *method)
{
	static const struct {
		const char *method, *capability;
	} rows[] = {{"elicitation/create", "elicitation"}, {"sampling/createMessage", "sampling"},
		{"roots/list", "roots"}};
	for (size_t i = 0; method && i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].method, method) == 0)
			return rows[i].capability;
	return "";
}

static bool fail_incapable(struct mcp_call *call, const json_t *requests)
{
	const char *key;
	json_t *request;
	json_object_foreach(json_unconst(requests), key, request)
	{
		const char *need =
			needed_for(json_string_value(json_object_get(request, "method")));
		char text[2 * NAME_BYTES];
		if (mcp_call_can(call, need))
			continue;
		snprintf(text, sizeof text, "the client has not declared %s", need);
		if (call->era == MCP_MODERN)
			mcp_call_fail(call, MCP_MISSING_CAPABILITY, text,
				json_pack("{s:{s:{}}}", "requiredCapabilities", need));
		else
			mcp_call_refuse(call, text);
		return true;
	}
	return false;
}

static json_t *bound_to(const struct mcp_call *call)
{
	return json_pack("[s, s, O]", call->method->name, mcp_call_name(call), call->arguments);
}

static void ask_modern(struct mcp_call *call, json_t *requests, const json_t *state)
{
	json_t *result =
		json_pack("{s:s, s:O}", "resultType", "input_required", "inputRequests", requests);
	json_t *bound = bound_to(call);
	char *text = state ? mcp_seal_write(&call->server->seal, state,
				     call->peer ? call->peer->config.principal : NULL, bound)
			   : NULL;
	if (text)
		json_put_text(result, "requestState", text);
	free(text);
	json_decref(bound);
	mcp_call_give(call, result);
}

static void ask_legacy(struct mcp_call *call, const json_t *requests)
{
	const char *key;
	json_t *request;
	char id[ID_TEXT_BYTES];
	cleanup_json json_t *messages = json_array();
	json_decref(call->asked);
	call->asked = json_object();
	if (!call->answers)
		call->answers = json_object();
	json_object_foreach(json_unconst(requests), key, request)
	{
		json_int_t number = ++call->peer->last_ask;
		snprintf(id, sizeof id, "%" JSON_INTEGER_FORMAT, number);
		json_put_text(call->asked, id, key);
		json_t *message = json_pack("{s:s, s:I}", "jsonrpc", "2.0", "id", number);
		(void)json_object_update(message, request);
		json_add_new(messages, message);
	}
	/* Send only after all ids are recorded, because the client's response may arrive during
	 * sending. */
	struct mcp_out out = call->out;
	for (size_t i = 0; i < json_array_size(messages); i++)
		mcp_out_send(&out, json_incref(json_array_get(messages, i)), false);
}

void mcp_call_ask(struct mcp_call *call, json_t *requests, json_t *state)
{
	if (!call->peer || call->is_abandoned) {
		mcp_call_fail(call, MCP_INTERNAL, "cancelled", NULL);
	} else if (!fail_incapable(call, requests)) {
		call->cancelled = NULL;
		if (call->era == MCP_MODERN) {
			ask_modern(call, requests, state);
		} else {
			json_decref(call->state);
			call->state = json_incref(state);
			ask_legacy(call, requests);
		}
	}
	json_decref(requests);
	json_decref(state);
}

bool mcp_call_answered(struct mcp_call *call, const json_t *message)
{
	const json_t *id = json_object_get(message, "id"),
		     *error = json_object_get(message, "error");
	json_t *result = json_object_get(message, "result");
	char text[ID_TEXT_BYTES] = "";
	if (json_is_integer(id))
		snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
	else if (json_is_string(id))
		snprintf(text, sizeof text, "%s", json_string_value(id));
	json_t *key = json_incref(json_object_get(call->asked, text));
	if (!key)
		return false;
	(void)json_object_del(call->asked, text);
	json_t *answer =
		error ? json_pack("{s:O}", "error", json_unconst(error)) : json_incref(result);
	json_put_new(call->answers, json_string_value(key), answer ? answer : json_object());
	json_decref(key);
	if (json_object_size(call->asked) == 0)
		call->row->start(call);
	return true;
}

/*
 * A client with a modern protocol revision (enum mcp_era) answers mcp_call_ask() by repeating its
 * request. Take two parts of the repeated request, if they are there: the client's responses to the
 * requests of mcp_call_ask(), and the sealed state that mcp_call_ask() sent to the client.
 * Returns: false if the state is not valid; the call has then ended with an error.
 */
bool mcp_call_take_answers(struct mcp_call *call)
{
	json_t *answers = json_object_get(call->params, "inputResponses");
	const char *sealed = json_string_value(json_object_get(call->params, "requestState"));
	if (json_is_object(answers))
		call->answers = json_incref(answers);
	if (!sealed)
		return true;
	json_t *bound = bound_to(call);
	call->state =
		mcp_seal_read(&call->server->seal, sealed, call->peer->config.principal, bound);
	json_decref(bound);
	if (call->state)
		return true;
	mcp_call_fail(call, MCP_INVALID_PARAMS,
		"requestState: not issued by this server for this request, or expired", NULL);
	return false;
}
