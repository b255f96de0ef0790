/* What serves the requests of fuzz_e2b.c: stand-ins for the HTTP server, for front.c and for
 * operations. SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include "api/row/param.h"
#include "base/alloc.h"
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An operation under way. */
struct operation_call {
	struct operation_call *next;
	const struct operation *op;
	struct operation_listener listener;
	struct operation_call **slot;
	json_t *params;
};

struct http_exchange *exchanges;
struct operation_context context;
struct front_state state;
unsigned choices;
const json_t *result;
json_t *answers;
static struct operation_call *calls;

/* ---- operations ---- */

/* Return what an operation results in. Owns: the caller decrefs. */
static json_t *make_result(const struct operation *op)
{
	char *text = xstrdup(op->answer ? op->answer : "{}");
	for (char *at = text; *at; at++)
		*at = (char)(*at == '\'' ? '"' : *at);
	json_t *out = json_loads(text, 0, NULL);
	free(text);
	out = json_need(json_is_object(out) ? out : json_object());
	if (strncmp(op->name, "process.", 8) == 0) {
		json_put_text(out, "process", "p-1");
		json_put_int(out, "pid", 7);
	}
	(void)json_object_update(out, json_unconst(result));
	return out;
}

static void end_call(struct operation_call *call, enum err_code code)
{
	struct operation_call **link = &calls;
	json_t *out = code == ERR_NONE ? make_result(call->op) : NULL;
	struct err err = {0};
	while (*link && *link != call)
		link = &(*link)->next;
	MUST(*link == call);
	*link = call->next;
	if (code != ERR_NONE)
		(void)err_fail(&err, code, "look for it", "it was not there");
	*call->slot = NULL;
	call->listener.done(call->listener.arg, out, &err);
	json_decref(out);
	json_decref(call->params);
	free(call);
}

static bool is_under_way(const struct operation_call *call)
{
	const struct operation_call *at = calls;
	while (at && at != call)
		at = at->next;
	return at != NULL;
}

static void tell_events(struct operation_call *call)
{
	const struct operation_listener to = call->listener;
	const json_t *events = json_object_get(result, "events"), *event;
	const json_t *limit = json_object_get(call->params, "limit");
	/* path.read reads nothing if it is to. */
	bool has_content =
		json_object_get(result, "raw") && (!limit || json_integer_value(limit) > 0);
	size_t i;
	json_array_foreach(events, i, event)
	{
		if (i == EVENTS_MAX || !is_under_way(call))
			break;
		if (json_is_object(event))
			to.event(to.arg, event);
	}
	if (is_under_way(call) && to.raw && has_content)
		to.raw(to.arg, "\"event\":\"data\"", "abc\0\xff", 5);
}

void __wrap_operation_start(const struct operation_context *given, const struct operation *op,
	json_t *params, const struct operation_listener *listener, struct operation_call **slot);
void __wrap_operation_cancel(struct operation_call *call);
void __wrap_operation_tell(const struct operation_context *given, const char *name, json_t *params);

void __wrap_operation_start(const struct operation_context *given, const struct operation *op,
	json_t *params, const struct operation_listener *listener, struct operation_call **slot)
{
	struct operation_call *call = xnew(struct operation_call);
	struct err err;
	MUST(given == &context && op && json_is_object(params));
	*call = (struct operation_call){.next = calls,
		.op = op,
		.listener = *listener,
		.slot = slot,
		.params = json_incref(params)};
	*slot = calls = call;
	bool is_at_once = strcmp(op->name, "session.net") == 0;
	if (param_check(op->params, op->n_params, params, &err) < 0) {
		end_call(call, err.code);
		return;
	}
	if (listener->event)
		tell_events(call);
	bool waits = json_object_get(result, "wait") || (listener->event && choices & WAITS);
	if (is_under_way(call) && (is_at_once || !waits))
		end_call(call,
			choices & GONE		  ? ERR_GONE
				: choices & FAILS ? ERR_NOT_FOUND
						  : ERR_NONE);
}

void __wrap_operation_cancel(struct operation_call *call)
{
	MUST(is_under_way(call));
	if (strcmp(call->op->name, "session.close") != 0)
		end_call(call, ERR_INTERRUPTED);
}

void __wrap_operation_tell(const struct operation_context *given, const char *name, json_t *params)
{
	const struct operation *op = operation_find(name);
	struct err err;
	MUST(given == &context && op);
	MUST(param_check(op->params, op->n_params, params, &err) == 0);
	json_decref(params);
}

/* ---- what the HTTP server does ---- */

void rig_drop(struct http_exchange *x)
{
	struct http_exchange **link = &exchanges;
	while (*link && *link != x)
		link = &(*link)->next;
	MUST(*link == x);
	*link = x->next;
	json_decref(x->headers);
	free(x->target);
	free(x->body);
	free(x);
}

const char *http_header(const struct http_exchange *x, const char *name)
{
	const char *key;
	json_t *value;
	json_object_foreach(x->headers, key,
		value) if (strcasecmp(key, name) == 0) return json_string_value(value);
	return NULL;
}

void http_each_header(const struct http_exchange *x,
	void (*each)(void *arg, const char *name, const char *value), void *arg)
{
	const char *key;
	json_t *value;
	json_object_foreach(x->headers, key, value) if (json_is_string(value))
		each(arg, key, json_string_value(value));
}

const char *http_method(const struct http_exchange *x)
{
	return x->method;
}

const char *http_target(const struct http_exchange *x)
{
	return x->target;
}

const char *http_query(const struct http_exchange *x, const char *name)
{
	const json_t *query = json_object_get(x->headers, "query");
	return json_string_value(json_object_get(query, name));
}

const struct host_site *http_site(const struct http_exchange *x)
{
	static const struct host_site nowhere;
	(void)x;
	return &nowhere;
}

void http_set_context(struct http_exchange *x, const struct operation_context *given)
{
	(void)x;
	MUST(given == &context);
}

size_t http_body_bytes(const struct http_exchange *x)
{
	return x->bytes;
}

const char *http_body(const struct http_exchange *x)
{
	return x->body;
}

ssize_t http_take_body(struct http_exchange *x, char *data, size_t max)
{
	size_t n = MIN(x->choices & SLOW ? 3 : max, x->bytes - x->at);
	if (x->choices & SLOW && x->n_takes++ % 2 == 0)
		return -EAGAIN;
	memcpy(data, x->body + x->at, MIN(n, max));
	x->at += MIN(n, max);
	return (ssize_t)MIN(n, max);
}

bool http_has_left(const struct http_exchange *x)
{
	return x->choices & LEAVES;
}

void http_on_gone(struct http_exchange *x, void (*gone)(void *arg), void *arg)
{
	x->gone = gone;
	x->gone_arg = arg;
}

void http_on_stop(struct http_exchange *x, void (*stop)(void *arg), void *arg)
{
	x->stop = stop;
	x->stop_arg = arg;
}

void http_on_progress(struct http_exchange *x, void (*progress)(void *arg), void *arg)
{
	x->progress = progress;
	x->progress_arg = arg;
}

int http_set_header(struct http_exchange *x, const char *name, const char *text)
{
	(void)x;
	MUST(name[0]);
	return strpbrk(text, "\r\n") ? -E2BIG : 0;
}

/* NOLINTNEXTLINE(readability-function-size): as in http.h */
void http_answer(
	struct http_exchange *x, unsigned status, const char *type, const char *body, size_t bytes)
{
	(void)type;
	MUST(!x->is_stream && status >= 200 && status < 600 && (body || bytes == 0));
	rig_drop(x);
}

int http_stream_open_sized(
	struct http_exchange *x, unsigned status, const char *type, int64_t bytes)
{
	(void)type;
	MUST(!x->is_stream && status >= 200 && status < 600 && bytes >= -1);
	x->is_stream = true;
	return 0;
}

int http_stream_open(struct http_exchange *x, unsigned status, const char *type)
{
	return http_stream_open_sized(x, status, type, -1);
}

int http_stream_put(struct http_exchange *x, const char *data, size_t bytes)
{
	MUST(x->is_stream && (data || bytes == 0));
	return x->choices & SLOW && x->n_takes++ % 2 == 0 ? -E2BIG : 0;
}

bool http_stream_is_behind(const struct http_exchange *x)
{
	return x->choices & SLOW;
}

void http_stream_end(struct http_exchange *x)
{
	MUST(x->is_stream);
	rig_drop(x);
}

void http_stream_cut(struct http_exchange *x)
{
	MUST(x->is_stream);
	rig_drop(x);
}

/* Forms: fuzz_http.c has those. Here the whole body is one file. */
struct http_form {
	bool (*each)(void *arg, const struct http_piece *piece);
	void *arg;
	uint64_t offset;
};

int http_form_open(struct http_form **out, struct http_exchange *x,
	bool (*each)(void *arg, const struct http_piece *piece), void *arg, struct err *err)
{
	if (x->bytes == 0)
		return err_set(err, ERR_USAGE, "not a form");
	struct http_form *f = *out = xnew(struct http_form);
	f->each = each;
	f->arg = arg;
	return 0;
}

int http_form_put(struct http_form *f, const char *data, size_t bytes, struct err *err)
{
	const struct http_piece piece = {"file", "f", data, bytes, f->offset};
	f->offset += bytes;
	return f->each(f->arg, &piece) ? 0 : err_set(err, ERR_USAGE, "not wanted");
}

int http_form_close(struct http_form *f, struct err *err)
{
	bool is_whole = f->offset % 3 != 1;
	free(f);
	return is_whole ? 0 : err_set(err, ERR_USAGE, "not whole");
}

/* ---- what front.c does ---- */

static struct http_exchange *finish(struct front_call *c)
{
	struct http_exchange *x = c->x;
	MUST(!c->under_way);
	if (x)
		x->gone = x->stop = x->progress = NULL;
	json_decref(c->body);
	json_decref(c->kept);
	free(c);
	return x;
}

struct http_exchange *front_take(struct front_call *c)
{
	return finish(c);
}

void front_answer(struct front_call *c, unsigned status, json_t *body)
{
	struct http_exchange *x = finish(c);
	char *text = json_dumps(body, JSON_ENCODE_ANY);
	MUST(text);
	if (json_is_object(body))
		(void)json_object_update(answers, body);
	if (x)
		http_answer(x, status, NULL, text, strlen(text));
	free(text);
	json_decref(body);
}

void front_answer_empty(struct front_call *c)
{
	struct http_exchange *x = finish(c);
	if (x)
		http_answer(x, 204, NULL, "", 0);
}

void front_fail(struct front_call *c, const struct err *err)
{
	c->wire->fail(c, err->code == ERR_INTERRUPTED ? 503 : (unsigned)err_http(err->code), err);
}

static void on_done(void *arg, const json_t *out, const struct err *err)
{
	struct front_call *c = arg;
	c->answered(c, out, err);
}

static void on_event(void *arg, const json_t *event)
{
	struct front_call *c = arg;
	c->events->event(c, event);
}

static void on_raw(void *arg, const char *members, const char *data, size_t bytes)
{
	struct front_call *c = arg;
	c->events->raw(c, members, data, bytes);
}

/* NOLINTNEXTLINE(readability-function-size): as in wire.h */
void front_follow(struct front_call *c, const char *operation, json_t *params,
	const struct front_events *events,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	const struct operation_listener listener = {.arg = c,
		.event = events ? on_event : NULL,
		.raw = events && events->raw ? on_raw : NULL,
		.done = on_done};
	struct operation_call **slot = &c->under_way;
	MUST(!c->under_way);
	c->answered = answered;
	c->events = events;
	__wrap_operation_start(c->context, operation_find(operation), params, &listener, slot);
	json_decref(params);
}

void front_operate(struct front_call *c, const char *operation, json_t *params,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	front_follow(c, operation, params, NULL, answered);
}

void front_cancel(struct front_call *c)
{
	if (c->under_way)
		__wrap_operation_cancel(c->under_way);
}

void front_box(const struct front_call *c, json_t *params, bool has_net)
{
	(void)c;
	(void)has_net;
	json_put_new(params, "limits", json_object());
}

void rig_on_gone(void *arg)
{
	struct front_call *c = arg;
	c->x = NULL;
	front_cancel(c);
}

void rig_on_stop(void *arg)
{
	front_cancel(arg);
}

bool rig_end_a_call(enum err_code code)
{
	if (calls)
		end_call(calls, code);
	return calls != NULL;
}

bool rig_is_open(const struct http_exchange *x)
{
	const struct http_exchange *at = exchanges;
	while (at && at != x)
		at = at->next;
	return at != NULL;
}
