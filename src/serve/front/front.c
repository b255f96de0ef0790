/*
 * Fronts: wires of other programs that run code.
 *
 * A wire is a table of routes. The handler of a route makes the parameters of an operation from the
 * request, and the answer of the wire from the operation's result; it has no other logic. The
 * operations are those of everybody, called for the principal whose token the request has, so that
 * rights, quotas and the journal are the same as with other clients.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/front.h"

#include "api/operation/principal.h"
#include "api/row/param.h"
#include "api/run/discard.h"
#include "base/alloc.h"
#include "base/base64.h"
#include "base/word.h"
#include "serve/front/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NOT_JSON "requests must be of type application/json"
#define NOT_FORM "Invalid content type. Must be multipart/form-data."

enum { BODY_BYTES = 64 << 20, PATH_BYTES = 128 };

static const struct front_wire *const wires[] = {&front_dify, &front_e2b, &front_jupyter,
	&front_librechat, &front_nemo, &front_open_terminal, &front_piston, &front_sandboxfusion};

/* A front that is served: its wire, and the state that its requests share. */
struct front {
	const struct front_wire *wire;
	struct front_state state;
};

/* What a route of the HTTP server refers to. */
struct front_place {
	struct front *front;
	const struct front_row *row;
	char below[PATH_BYTES]; /* what stands before the path of `row`: "/NAME" or "" */
	char path[2 * PATH_BYTES];
};

struct front_set {
	struct front *fronts;
	struct front_place *places;
	struct http_route *routes;
	size_t n_fronts, n_routes;
};

const char *front_set_names(void)
{
	static char names[256];
	size_t at = 0;
	for (size_t i = 0; i < ARRAY_LEN(wires) && at < sizeof names; i++)
		at += (size_t)snprintf(
			names + at, sizeof names - at, "%s%s", i ? ", " : "", wires[i]->name);
	return names;
}

/* ---- a request ---- */

static void end(struct front_call *c)
{
	if (c->x) {
		http_on_progress(c->x, NULL, NULL);
		http_on_gone(c->x, NULL, NULL);
		http_on_stop(c->x, NULL, NULL);
	}
	json_decref(c->body);
	json_decref(c->kept);
	free(c);
}

void front_answer(struct front_call *c, unsigned status, json_t *body)
{
	struct http_exchange *x = c->x;
	struct err err;
	json_t *instead = NULL;
	if (x && http_is_full(x, body)) {
		json_decref(body);
		err_fail(&err, ERR_BUSY, "read them first", "too many long responses are unread");
		c->wire->fail(c, 503, &err);
		return;
	}
	end(c);
	if (!x) {
		json_decref(body);
		return;
	}
	if (!body) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for the answer");
		http_refuse(x, 500, &err);
		return;
	}
	http_answer_json(x, status, NULL, body, instead);
}

void front_answer_file(struct front_call *c, const char *type, const json_t *file)
{
	const json_t *content = json_object_get(file, "content");
	bool is_base64 = strcmp(json_get_text(file, "encoding"), "base64") == 0;
	cleanup_buf struct buf data = BUF_INIT(BODY_BYTES);
	struct http_exchange *x = c->x;
	struct err err = {0};
	int r = is_base64
		? base64_read(&data, json_string_value(content), json_string_length(content), &err)
		: buf_append(&data, json_string_value(content), json_string_length(content));
	if (r < 0) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for the answer");
		front_fail(c, &err);
		return;
	}
	end(c);
	size_t bytes = data.bytes;
	if (x && bytes == 0)
		http_answer(x, 200, type, "", 0);
	else if (x)
		http_answer_long(x, 200, type, buf_take(&data), bytes);
}

struct http_exchange *front_take(struct front_call *c)
{
	struct http_exchange *x = c->x;
	end(c);
	return x;
}

void front_answer_empty(struct front_call *c)
{
	struct http_exchange *x = front_take(c);
	if (x)
		http_answer(x, 204, NULL, "", 0);
}

void front_fail(struct front_call *c, const struct err *err)
{
	/* Status 499 is for a client that has gone; here it is the engine that stops. */
	unsigned status = err->code == ERR_INTERRUPTED ? 503 : (unsigned)err_http(err->code);
	c->wire->fail(c, status, err);
}

void front_nothing(struct front_call *c)
{
	struct err err;
	(void)err_set(&err, ERR_NOT_FOUND, "not found");
	c->wire->fail(c, 404, &err);
}

static void on_done(void *arg, const json_t *result, const struct err *err)
{
	struct front_call *c = arg;
	const char *session = json_get_text(result, "session");
	/* The first session is the program's; others are made for what comes of it. */
	if (session[0] && c->x && !c->is_named)
		c->is_named = http_set_header(c->x, "X-Retort-Session", session) == 0;
	c->answered(c, result, err);
}

void front_operate(struct front_call *c, const char *operation, json_t *params,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	const struct operation_listener listener = {.arg = c, .done = on_done};
	struct operation_call **slot = &c->under_way;
	c->answered = answered;
	operation_start(c->context, operation_find(operation), params, &listener, slot);
	json_decref(params);
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

static bool is_behind(void *arg)
{
	const struct front_call *c = arg;
	return c->x && http_stream_is_behind(c->x);
}

static void on_progress(void *arg)
{
	struct front_call *c = arg;
	if (c->under_way)
		operation_resume(c->under_way);
}

/* NOLINTNEXTLINE(readability-function-size): as front_operate(), and the events */
void front_follow(struct front_call *c, const char *operation, json_t *params,
	const struct front_events *events,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	const struct operation_listener listener = {.arg = c,
		.event = on_event,
		.raw = events->raw ? on_raw : NULL,
		.is_behind = is_behind,
		.done = on_done};
	struct operation_call **slot = &c->under_way;
	c->answered = answered;
	c->events = events;
	if (c->x)
		http_on_progress(c->x, on_progress, c);
	operation_start(c->context, operation_find(operation), params, &listener, slot);
	json_decref(params);
}

void front_box(const struct front_call *c, json_t *params, bool has_net)
{
	const json_t *box = c->state->box;
	const char *runtime = param_text(params, "runtime", "");
	const char *language = param_text(params, "language", runtime);
	json_t *limits = json_need(json_copy(json_object_get(box, "limits")));
	(void)json_object_update(limits, json_object_get(params, "limits"));
	json_put_new(params, "limits", limits);
	if (strcmp(language, "python") == 0) {
		json_put_shared(params, "preload", json_object_get(box, "preload"));
		json_put_shared(params, "python", json_object_get(box, "python"));
	}
	if (has_net && principal_may_have_net(c->context->principal))
		json_put_shared(params, "net", json_object_get(box, "net"));
}

void front_run(struct front_call *c, json_t *params, bool has_net,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	struct err err;
	if (!params) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a program");
		front_fail(c, &err);
		return;
	}
	front_box(c, params, has_net);
	front_operate(c, "program.run", params, answered);
}

void front_cancel(struct front_call *c)
{
	if (c->under_way)
		operation_cancel(c->under_way);
}

static void on_gone(void *arg)
{
	struct front_call *c = arg;
	c->x = NULL;
	front_cancel(c);
}

static void on_stop(void *arg)
{
	front_cancel(arg);
}

/* Return whether a browser has sent the request for a page: only browsers send these headers.
 * Source: Fetch Metadata, W3C; RFC 6454, 7. */
static bool is_of_page(const struct http_exchange *x)
{
	return http_header(x, "Sec-Fetch-Site") || http_header(x, "Origin") ||
		http_header(x, "Referer");
}

/* Is the body a form? Browsers send one to another site without asking first. */
static bool is_good_form(const struct front_call *c)
{
	static const char form[] = "multipart/form-data";
	const char *type = http_header(c->x, "Content-Type");
	return type && strncasecmp(type, form, sizeof form - 1) == 0 && !is_of_page(c->x);
}

/* Read the body of a request that has one. A page of another site cannot send this content type
 * without asking first. Wires whose clients send JSON under other types take it under any, but not
 * from a browser. */
static int take_body(struct front_call *c, unsigned *status, struct err *err)
{
	static const char json[] = "application/json";
	const char *type = http_header(c->x, "Content-Type");
	bool is_json = type && strncasecmp(type, json, sizeof json - 1) == 0;
	bool may_be_empty = strcmp(http_method(c->x), "POST") != 0 ||
		(c->wire->may_be_empty && (is_json || !is_of_page(c->x)));
	*status = 400;
	if (http_body_bytes(c->x) == 0 && may_be_empty)
		return 0;
	if (!is_json && (!c->wire->is_any_type || is_of_page(c->x))) {
		*status = 415;
		return err_set(err, ERR_USAGE, NOT_JSON);
	}
	json_t *body = NULL;
	int r = http_take_json(c->x, &body, err);
	if (r == 0 && json_is_object(body)) {
		json_decref(c->body);
		c->body = body;
		return 0;
	}
	discard(c->context->loop, body, http_body_bytes(c->x));
	if (r == 0)
		return err_set(err, ERR_USAGE, "the body must be a JSON object");
	if (is_json)
		return r;
	*status = 415;
	return err_set(err, ERR_USAGE, NOT_JSON);
}

/* Return the row for a request that got @row, the rest of a directory, but has a slash too many:
 * some clients end all paths in one. Returns: @row if there is no other. */
static const struct front_row *find_row(
	const struct front_call *c, const char *below, const struct front_row *row)
{
	const char *target = http_target(c->x), *method = http_method(c->x);
	size_t n = strcspn(target, "?"), skip = strlen(below);
	if (n < skip + 2 || target[n - 1] != '/' || strncmp(target, below, skip) != 0)
		return row;
	target += skip;
	n -= skip + 1;
	for (size_t i = 0; i < c->wire->n_rows; i++) {
		const struct front_row *other = &c->wire->rows[i];
		if (strlen(other->path) == n && strncmp(other->path, target, n) == 0 &&
			other->method && strcmp(other->method, method) == 0)
			return other;
	}
	return row;
}

static void start(void *arg, struct http_exchange *x)
{
	struct front_place *place = arg;
	struct front_call *c = xnew(struct front_call);
	unsigned status;
	struct err err;
	*c = (struct front_call){.wire = place->front->wire,
		.state = &place->front->state,
		.context = http_context(x),
		.x = x,
		.body = json_need(json_object())};
	const struct front_row *row =
		place->row->method ? place->row : find_row(c, place->below, place->row);
	http_note(x, c->wire->name);
	http_on_gone(x, on_gone, c);
	http_on_stop(x, on_stop, c);
	if (row->is_form && !is_good_form(c)) {
		(void)err_set(&err, ERR_USAGE, NOT_FORM);
		c->wire->fail(c, 400, &err);
	} else if (row->method && !row->is_form && !row->is_raw && !row->is_streamed &&
		take_body(c, &status, &err) < 0) {
		c->wire->fail(c, status, &err);
	} else {
		row->start(c);
	}
}

/* ---- the routes ---- */

static bool is_taken(const struct front_set *f, const struct http_route *route)
{
	for (size_t i = 0; i < f->n_routes; i++) {
		const char *method = f->routes[i].method;
		bool is_same = method && route->method ? strcmp(method, route->method) == 0
						       : method == route->method;
		if (is_same && strcmp(f->routes[i].path, route->path) == 0)
			return true;
	}
	return false;
}

static bool opens_site(
	void *arg, const struct http_exchange *x, const struct operation_context **context)
{
	const struct front_place *place = arg;
	return place->front->wire->opens_site(&place->front->state, x, context);
}

static void add_route(
	struct front_set *f, struct front *front, const struct front_row *row, const char *below)
{
	struct front_place *place = &f->places[f->n_routes];
	bool is_rest = !below && strcmp(row->path, "/") == 0;
	bool is_first = below && row == front->wire->rows;
	*place = (struct front_place){.front = front, .row = row};
	if (below)
		snprintf(place->below, sizeof place->below, "/%s", below);
	snprintf(place->path, sizeof place->path, "%s%s", place->below, is_rest ? "*" : row->path);
	const struct http_route route = {.method = row->method,
		.path = place->path,
		.body_max_bytes = row->is_streamed ? SIZE_MAX : BODY_BYTES,
		.is_open = row->is_open,
		.is_open_socket = row->is_open_socket,
		.is_json = !row->is_form && !row->is_raw && !row->is_streamed,
		.is_streamed = row->is_streamed,
		.has_flat_errors = front->wire->has_flat_errors,
		.key_header = "X-Api-Key",
		.key_query = front->wire->key_query,
		.key_cookie = front->wire->key_cookie,
		/* A host of a site has the paths of the wire as they are. */
		.site_ports = below ? NULL : front->wire->site_ports,
		.n_site_ports = below ? 0 : front->wire->n_site_ports,
		/* One route of the front asks for all. */
		.opens_site = is_first && front->wire->opens_site ? opens_site : NULL,
		.arg = place,
		.start = start};
	/* For requests to its own sites, a route does not compete with those of other fronts. */
	if (route.n_site_ports > 0 || !is_taken(f, &route))
		f->routes[f->n_routes++] = route;
}

/* Add the routes of a front: each below the front's name and as the wire has it. Rows for whole
 * directories come last, as they would hide others. */
static void add_routes(struct front_set *f, struct front *front)
{
	const struct front_wire *wire = front->wire;
	for (size_t i = 0; i < wire->n_rows; i++)
		add_route(f, front, &wire->rows[i], wire->name);
	for (size_t i = 0; i < wire->n_rows; i++)
		if (strcmp(wire->rows[i].path, "/") != 0)
			add_route(f, front, &wire->rows[i], NULL);
}

static const struct front_wire *find_wire(const char *name, struct err *err)
{
	struct word_near near = WORD_NEAR(name);
	for (size_t i = 0; i < ARRAY_LEN(wires); i++)
		if (strcmp(wires[i]->name, name) == 0)
			return wires[i];
	for (size_t i = 0; i < ARRAY_LEN(wires); i++)
		word_near_try(&near, wires[i]->name);
	(void)err_unknown(err, ERR_USAGE, &near, front_set_names(),
		"--front: no front is called %.40s", name);
	return NULL;
}

/* Return how many rows the fronts of @config have; or negative errno. */
static int count_rows(const struct front_set_config *config, struct err *err)
{
	size_t n_rows = 0;
	for (size_t i = 0; i < config->n_names; i++) {
		const struct front_wire *wire = find_wire(config->names[i], err);
		if (!wire)
			return -EINVAL;
		for (size_t j = 0; j < i; j++)
			if (strcmp(config->names[i], config->names[j]) == 0)
				return err_fail(err, ERR_USAGE, "name it once",
					"--front %s is given twice", config->names[i]);
		n_rows += wire->n_rows;
	}
	return (int)n_rows;
}

int front_set_open(struct front_set **out, const struct front_set_config *config, struct err *err)
{
	*out = NULL;
	int n_rows = count_rows(config, err);
	if (n_rows < 0)
		return n_rows;
	size_t n_names = config->n_names, n_routes = 2 * (size_t)n_rows + n_names;
	struct front_set *f = xnew(struct front_set);
	f->fronts = xcalloc(n_names + 1, sizeof *f->fronts);
	f->places = xcalloc(n_routes, sizeof *f->places);
	f->routes = xcalloc(n_routes, sizeof *f->routes);
	for (size_t i = 0; i < n_names; i++) {
		f->fronts[f->n_fronts].wire = find_wire(config->names[i], err);
		f->fronts[f->n_fronts].state.box = config->box;
		f->fronts[f->n_fronts].state.idle_ms = config->idle_ms;
		add_routes(f, &f->fronts[f->n_fronts++]);
	}
	/* What nothing else serves is answered in the way of the first front, and at a site in the
	 * way of its own. */
	for (size_t i = 0; i < n_names; i++) {
		const struct front_wire *wire = f->fronts[i].wire;
		if (i == 0 || wire->n_site_ports > 0)
			add_route(f, &f->fronts[i], &wire->rows[wire->n_rows - 1], NULL);
	}
	*out = f;
	return 0;
}

void front_set_ports(struct front_set *f, struct port_way *ports)
{
	for (size_t i = 0; f && i < f->n_fronts; i++)
		f->fronts[i].state.ports = ports;
}

const struct http_route *front_set_routes(const struct front_set *f, size_t *n)
{
	*n = f->n_routes;
	return f->routes;
}

bool front_set_stop(struct front_set *f)
{
	bool is_busy = false;
	for (size_t i = 0; f && i < f->n_fronts; i++)
		if (f->fronts[i].wire->stop && f->fronts[i].state.own)
			is_busy |= f->fronts[i].wire->stop(&f->fronts[i].state);
	return is_busy;
}

void front_set_close(struct front_set *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_fronts; i++)
		json_decref(f->fronts[i].state.languages);
	free(f->fronts);
	free(f->places);
	free(f->routes);
	free(f);
}
