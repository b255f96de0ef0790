/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/rpc.h"

#include "api/run/discard.h"
#include "api/text/json.h"
#include "base/json.h"
#include "serve/http/sse.h"
#include "serve/rpc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A JSON-RPC request. It may outlive the HTTP exchange. */
struct rpc_exchange {
	/* NULL if no response is needed: for a notification, or after the client has
	 * disconnected. */
	struct http_exchange *x;
	const struct operation *op;
	struct operation_call *call;
	json_t *id; /* the id that the client chose; NULL for a notification */
	bool has_events, is_open, is_detached;
	bool is_cut; /* the client reads too slowly, so it gets no more events */
};

static void answer_error(
	struct http_exchange *x, unsigned status, const json_t *id, int rpc, const struct err *err)
{
	http_answer_json(x, status, NULL, rpc_error(id, rpc, err), NULL);
}

/* ---- the call of an operation ---- */

static void on_event(void *arg, const json_t *event)
{
	struct rpc_exchange *q = arg;
	cleanup_buf struct buf out = BUF_INIT(HTTP_HARD_BYTES);
	const char *name = json_string_value(json_object_get(event, "event"));
	if (!q->x || !q->has_events || q->is_cut || !name || operation_is_last(q->op, event))
		return;
	if (!q->is_open)
		q->is_open = http_stream_open(q->x, 200, SSE_TYPE) == 0;
	char *text = json_text(event, JSON_COMPACT);
	if (!q->is_open || !text || sse_put(&out, name, text, strlen(text)) < 0 ||
		http_stream_put(q->x, out.data, out.bytes) < 0)
		q->is_cut = true;
	free(text);
}

static bool is_behind(void *arg)
{
	const struct rpc_exchange *q = arg;
	return q->x && http_stream_is_behind(q->x);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct rpc_exchange *q = arg;
	struct err too_long;
	err_fail(&too_long, ERR_LIMIT, "ask for less, or first read the answers that wait",
		"the answer is too long to be sent");
	if (q->x)
		http_answer_json(q->x, 200, q->is_open ? "response" : NULL,
			result ? rpc_result(q->id, result) : rpc_error(q->id, 0, err),
			result ? rpc_error(q->id, 0, &too_long) : NULL);
	json_decref(q->id);
	free(q);
}

static void on_gone(void *arg)
{
	struct rpc_exchange *q = arg;
	q->x = NULL;
	if (q->call && !q->is_detached)
		operation_cancel(q->call);
}

static void on_stop(void *arg)
{
	struct rpc_exchange *q = arg;
	if (q->call)
		operation_cancel(q->call);
}

static void call(struct http_exchange *x, const struct operation *op, const struct rpc_request *r)
{
	struct rpc_exchange *q = xnew(struct rpc_exchange);
	*q = (struct rpc_exchange){.x = x,
		.op = op,
		.id = json_incref(json_unconst(r->id)),
		.has_events = op->has_events && sse_is_accepted(http_header(x, "Accept")),
		.is_detached = param_flag(r->params, "detach")};
	const struct operation_listener listener = {
		.arg = q, .event = on_event, .is_behind = is_behind, .done = on_done};
	const struct operation_context *context = http_context(x);
	if (r->id) {
		http_on_gone(x, on_gone, q);
		http_on_stop(x, on_stop, q);
		/* A notification gets no JSON-RPC response. So end the HTTP request at once,
		 * with an empty body. */
	} else {
		q->x = NULL;
		http_answer(x, 202, NULL, "", 0);
	}
	operation_start(context, op, r->params, &listener, &q->call);
}

void rpc_http_start(void *arg, struct http_exchange *x)
{
	struct rpc_request request = {0};
	struct err err;
	json_t *root;
	size_t bytes = http_body_bytes(x);
	uv_loop_t *loop = http_context(x)->loop;
	(void)arg;
	int r = http_take_json(x, &root, &err);
	if (r == 0)
		r = rpc_judge(root, &request, &err);
	if (r < 0) {
		answer_error(x, 400, request.id, r, &err);
		discard(loop, request.root, bytes);
		return;
	}
	http_note(x, request.method);
	const struct operation *op = operation_find(request.method);
	if (!op) {
		(void)operation_unknown(request.method, &err);
		if (request.id)
			answer_error(x, 200, request.id, RPC_NO_METHOD, &err);
		else
			http_answer(x, 202, NULL, "", 0);
	} else {
		call(x, op, &request);
	}
	discard(loop, request.root, bytes);
}
