/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/inside.h"

#include "base/json.h"
#include "serve/rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MAX = 100, MESSAGE_BYTES = 320 };

/* The revision that is assumed if neither a handshake nor the configuration names one. */
#define VERSION_UNSAID "2025-03-26"

struct mcp_peer *mcp_peer_new(const struct mcp_peer_config *config)
{
	struct mcp_server *s = config->server;
	struct mcp_peer *p = xnew(struct mcp_peer);
	*p = (struct mcp_peer){
		.config = *config, .next = s->peers, .link = &s->peers, .log_level = -1};
	if (p->next)
		p->next->link = &p->next;
	s->peers = p;
	return p;
}

void mcp_peer_free(struct mcp_peer *p)
{
	if (!p)
		return;
	for (struct mcp_call *call = p->calls; call; call = call->next)
		call->out.send = NULL;
	while (p->calls) {
		struct mcp_batch *batch = p->calls->batch;
		if (batch)
			batch->out.send = NULL;
		mcp_call_cancel(p->calls);
	}
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	json_decref(p->capabilities);
	json_decref(p->subscribed);
	free(p);
}

unsigned mcp_peer_n_calls(const struct mcp_peer *p)
{
	return p->n_calls;
}

const char *mcp_peer_version(const struct mcp_peer *p)
{
	return p->version;
}

void mcp_peer_forget(struct mcp_peer *p, const void *out_arg, bool is_cancelled)
{
	for (struct mcp_call *call = p->calls, *next; call; call = next) {
		next = call->next;
		const void *at = call->batch ? call->batch->out.arg : call->out.arg;
		if (at != out_arg)
			continue;
		call->out.send = NULL;
		if (call->batch)
			call->batch->out.send = NULL;
		if (is_cancelled) {
			/* The handler may have ended other calls too, so start again at the first
			 * call. */
			mcp_call_cancel(call);
			next = p->calls;
		}
	}
}

/* ---- requests, notifications and responses ---- */

struct message {
	const json_t *root, *id;
	const char *method;
	json_t *params;
	const struct mcp_out *out;
	struct mcp_batch *batch;
};

static void refuse(const struct message *m, int code, const char *text, json_t *data)
{
	mcp_answer(m->out, m->batch, mcp_error(m->id, code, text, data));
}

static const json_t *meta_of(const json_t *params, const char *name)
{
	return json_object_get(json_object_get(params, "_meta"), name);
}

static bool is_modern(const struct mcp_peer *p, const struct message *m)
{
	return p->config.is_modern_only || meta_of(m->params, MCP_META "protocolVersion") ||
		meta_of(m->params, MCP_META "clientCapabilities");
}

/* Check the members that every modern request must have. Returns: false after an error was sent. */
static bool check_modern(const struct message *m)
{
	const char *version = json_string_value(meta_of(m->params, MCP_META "protocolVersion"));
	if (!version) {
		refuse(m, MCP_INVALID_PARAMS, "_meta: " MCP_META "protocolVersion is missing",
			NULL);
		return false;
	}
	if (mcp_version_era(version) != MCP_MODERN) {
		char text[MESSAGE_BYTES];
		snprintf(text, sizeof text, "unsupported protocol version: %.64s", version);
		refuse(m, MCP_UNSUPPORTED_VERSION, text,
			json_pack("{s:[s], s:s}", "supported", mcp_versions[0], "requested",
				version));
		return false;
	}
	if (!json_is_object(meta_of(m->params, MCP_META "clientCapabilities"))) {
		refuse(m, MCP_INVALID_PARAMS, "_meta: " MCP_META "clientCapabilities is missing",
			NULL);
		return false;
	}
	return true;
}

static bool is_under_way(const struct mcp_peer *p, const json_t *id)
{
	for (const struct mcp_call *call = p->calls; call; call = call->next)
		if (json_equal(call->id, id))
			return true;
	return false;
}

/* Find the method of the request, which must exist in @era. Returns: NULL after an error was
 * sent. */
static const struct mcp_method *find_method(
	struct mcp_peer *p, const struct message *m, enum mcp_era era)
{
	const struct mcp_method *method = mcp_method_find(&p->config.server->config, m->method);
	char text[MESSAGE_BYTES];
	bool is_here =
		method && (method->eras & (era == MCP_MODERN ? METHOD_MODERN : METHOD_LEGACY));
	if (is_here)
		return method;
	/* The method exists in the modern era only, but the request lacks the members that mark
	 * modern requests. Naming a missing member helps more than "no method". */
	if (method && era == MCP_LEGACY) {
		refuse(m, MCP_INVALID_PARAMS, "_meta: " MCP_META "protocolVersion is missing",
			NULL);
		return NULL;
	}
	snprintf(text, sizeof text, "no method %.100s", m->method);
	refuse(m, RPC_NO_METHOD, text, NULL);
	return NULL;
}

static struct mcp_call *call_new(struct mcp_peer *p, const struct message *m, enum mcp_era era)
{
	struct mcp_call *call = xnew(struct mcp_call);
	*call = (struct mcp_call){.server = p->config.server,
		.peer = p,
		.next = p->calls,
		.link = &p->calls,
		.id = json_incref(json_unconst(m->id)),
		.params = m->params ? json_incref(m->params) : json_object(),
		.arguments = json_object(),
		.era = era,
		.version = era == MCP_MODERN ? mcp_versions[0]
			: p->version	     ? p->version
			: p->config.version  ? p->config.version
					     : VERSION_UNSAID,
		.out = *m->out,
		.batch = m->batch,
		.token = meta_of(m->params, "progressToken"),
		.log_level = mcp_level(json_string_value(meta_of(m->params, MCP_META "logLevel")))};
	call->capabilities = era == MCP_MODERN ? meta_of(m->params, MCP_META "clientCapabilities")
					       : p->capabilities;
	if (!json_is_string(call->token) && !json_is_number(call->token))
		call->token = NULL;
	if (call->next)
		call->next->link = &call->next;
	p->calls = call;
	p->n_calls++;
	return call;
}

static void take_request(struct mcp_peer *p, const struct message *m)
{
	enum mcp_era era = is_modern(p, m) ? MCP_MODERN : MCP_LEGACY;
	if (era == MCP_MODERN && !check_modern(m))
		return;
	if (is_under_way(p, m->id)) {
		refuse(m, RPC_INVALID, "a request with this id is running", NULL);
		return;
	}
	const struct mcp_method *method = find_method(p, m, era);
	if (!method)
		return;
	if (p->n_calls >= MCP_CALLS_MAX) {
		char text[MESSAGE_BYTES];
		snprintf(text, sizeof text, "%u requests under way, limit %d: wait for one",
			p->n_calls, MCP_CALLS_MAX);
		refuse(m, MCP_INTERNAL, text, NULL);
		return;
	}
	struct mcp_call *call = call_new(p, m, era);
	call->method = method;
	if (method->named_by)
		call->name = json_string_value(json_object_get(call->params, method->named_by));
	method->start(call);
}

static void take_notification(struct mcp_peer *p, const struct message *m)
{
	const json_t *id = json_object_get(m->params, "requestId");
	if (strcmp(m->method, "notifications/cancelled") != 0 || !id)
		return;
	for (struct mcp_call *call = p->calls; call; call = call->next)
		if (json_equal(call->id, id)) {
			mcp_call_cancel(call);
			return;
		}
}

static void take_response(struct mcp_peer *p, const json_t *message)
{
	for (struct mcp_call *call = p->calls; call; call = call->next)
		if (mcp_call_answered(call, message))
			return;
}

/* ---- receiving messages, and telling their kinds apart ---- */

static bool is_response(const json_t *root)
{
	return json_is_object(root) && !json_object_get(root, "method") &&
		(json_object_get(root, "result") || json_object_get(root, "error"));
}

/* Check the form of a message. Returns: a description of the mistake; NULL if there is none. */
static const char *judge(struct message *m)
{
	const json_t *id = json_object_get(m->root, "id");
	const char *version = json_string_value(json_object_get(m->root, "jsonrpc"));
	m->method = json_string_value(json_object_get(m->root, "method"));
	m->params = json_object_get(m->root, "params");
	if (json_is_array(m->root))
		return "batches are for revision 2025-03-26 only: send one message at a time";
	if (!json_is_object(m->root))
		return "the message is not an object";
	if (id && !json_is_string(id) && !json_is_number(id))
		return "the id is not a text or a number";
	m->id = id;
	if (!version || strcmp(version, "2.0") != 0)
		return "jsonrpc is \"2.0\"";
	if (!m->method)
		return "the method is not a text";
	if (m->params && !json_is_object(m->params))
		return "params is not an object";
	return NULL;
}

/* Return whether the message must get a response. Malformed messages must, too. */
static bool wants_answer(const json_t *root)
{
	return !is_response(root) &&
		(!json_is_object(root) || json_object_get(root, "id") ||
			!json_object_get(root, "method"));
}

static void take_one(
	struct mcp_peer *p, const json_t *root, const struct mcp_out *out, struct mcp_batch *batch)
{
	struct message m = {.root = root, .out = out, .batch = batch};
	if (is_response(root)) {
		take_response(p, root);
		return;
	}
	const char *wrong = judge(&m);
	if (wrong && wants_answer(root))
		refuse(&m, RPC_INVALID, wrong, NULL);
	if (wrong)
		return;
	if (m.id)
		take_request(p, &m);
	else
		take_notification(p, &m);
}

static unsigned take_batch(struct mcp_peer *p, const json_t *root, const struct mcp_out *out)
{
	size_t n = json_array_size(root);
	struct mcp_batch *batch = xnew(struct mcp_batch);
	/* n_open starts at 1, so that the response is not sent before all messages of the batch
	 * were read. */
	*batch = (struct mcp_batch){.out = *out, .answers = json_array(), .n_open = 1};
	for (size_t i = 0; i < n; i++)
		batch->n_open += wants_answer(json_array_get(root, i)) ? 1 : 0;
	bool has_answer = batch->n_open > 1;
	for (size_t i = 0; i < n; i++)
		take_one(p, json_array_get(root, i), out, batch);
	if (!has_answer)
		batch->out.send = NULL;
	mcp_answer(out, batch, NULL);
	return has_answer ? 1 : 0;
}

unsigned mcp_peer_take(struct mcp_peer *p, const json_t *message, const struct mcp_out *out)
{
	size_t n = json_array_size(message);
	bool has_batches = p->version && strcmp(p->version, "2025-03-26") == 0;
	if (has_batches && n > 0 && n <= BATCH_MAX)
		return take_batch(p, message, out);
	unsigned n_answers = wants_answer(message) ? 1 : 0;
	take_one(p, message, out, NULL);
	return n_answers;
}

unsigned mcp_peer_receive(
	struct mcp_peer *p, const char *text, size_t bytes, const struct mcp_out *out)
{
	json_t *root = NULL;
	struct err err;
	int r = rpc_load(text, bytes, &root, &err);
	if (r < 0) {
		mcp_out_send(out, mcp_error(NULL, r, err.msg, NULL), true);
		return 1;
	}
	unsigned n = mcp_peer_take(p, root, out);
	json_decref(root);
	return n;
}
