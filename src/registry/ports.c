/*
 * Ports of sessions.
 *
 * An entry has a list of open ports (session/port/port.h). They belong to the session, not to its
 * box: when the session gets another box, by an undo for example, connections that are made from
 * then on lead into that one. They end with the entry.
 *
 * A port listens on the host, or clients of the HTTP server reach it by a path of their own
 * (registry_port_connect()). Everybody may open the second kind, for who uses it has to be the
 * owner of the session. Only the operator, and callers that may name paths of the host, can open
 * the first kind: whoever may connect to this host could reach it. A list can be asked for by
 * everyone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/ports.h"

#include "base/alloc.h"
#include "base/json.h"
#include "registry/entry.h"
#include "registry/files.h"
#include "registry/history.h"
#include "registry/lifetime.h"
#include "registry/session_table.h"
#include "session/port/listening.h"
#include "session/port/port.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that waits for the session's box, and then for the box's answer. */
struct asking {
	struct registry *registry;
	char *session;
	uint16_t port; /* to open; 0: list the ports */
	struct place place;
	bool is_unix, is_web, is_early;
	registry_done_fn *done;
	void *arg;
};

static void answer(struct asking *a, json_t *result, const struct err *err)
{
	a->done(a->arg, result, result ? NULL : err);
	json_decref(result);
	free(a->session);
	free(a);
}

static struct box *box_of(void *arg)
{
	struct entry *e = arg;
	lifetime_use(e);
	return e->session ? session_box(e->session) : NULL;
}

/* ---- listing ---- */

static json_t *url_path(const struct entry *e, uint16_t port)
{
	return json_sprintf("/s/%s/%u/", e->id, (unsigned)port);
}

/* Where the port is open: an address, a path of the host, or a path of the HTTP server. */
static json_t *place_json(const struct entry *e, const struct port *p)
{
	char text[PLACE_TEXT_BYTES];
	if (!port_place(p))
		return url_path(e, port_number(p));
	place_write(port_place(p), text);
	return json_string(text);
}

/* Return the row of @port in @rows, which are sorted, or a new one. */
static json_t *row_of(json_t *rows, uint16_t port)
{
	size_t at = 0;
	for (; at < json_array_size(rows); at++) {
		json_t *row = json_array_get(rows, at);
		json_int_t number = json_integer_value(json_object_get(row, "port"));
		if (number == port)
			return row;
		if (number > port)
			break;
	}
	json_t *row = json_pack("{s:i, s:b}", "port", (int)port, "listening", 0);
	(void)json_array_insert_new(rows, at, row);
	return row;
}

static void append(json_t *row, const char *name, json_t *text)
{
	json_t *list = json_object_get(row, name);
	if (!list) {
		list = json_array();
		(void)json_object_set_new(row, name, list);
	}
	(void)json_array_append_new(list, text);
}

static json_t *ports_json(const struct entry *e, const struct listening *v, size_t n)
{
	json_t *rows = json_array();
	/* The listeners are sorted by port, so a row is new or the last one. */
	for (size_t i = 0; i < n; i++) {
		json_t *row = json_array_get(rows, json_array_size(rows) - 1);
		if (i == 0 || v[i].port != v[i - 1].port) {
			row = json_pack("{s:i, s:b}", "port", (int)v[i].port, "listening", 1);
			(void)json_array_append_new(rows, row);
		}
		append(row, "addresses", json_string(v[i].address));
	}
	for (const struct port *p = e->ports.first; p; p = port_next(p))
		append(row_of(rows, port_number(p)), "open", place_json(e, p));
	return json_pack("{s:o}", "ports", rows);
}

/* ---- opening ---- */

/* The path of the unix socket: in the engine's directory, which nobody else may enter. */
static int choose_path(const struct entry *e, uint16_t port, struct place *out, struct err *err)
{
	char path[PATH_MAX];
	const char *dir = e->table->runtime_dir;
	if (!dir)
		return err_fail(err, ERR_ACCESS, "give `listen` an address, such as 127.0.0.1:0",
			"this engine has no directory for sockets");
	int n = snprintf(path, sizeof path, "%s/%s-%u.sock", dir, e->id, (unsigned)port);
	if (n >= (int)sizeof path)
		return err_set(err, ERR_USAGE, "the path of the socket directory is too long");
	int r = place_of_path(out, path, err);
	for (const struct port *p = e->ports.first; r == 0 && p; p = port_next(p))
		if (port_number(p) == port && port_place(p) && place_is_path(port_place(p)))
			return err_fail(err, ERR_LIMIT, "use that one, or close it first",
				"port %u is open at %s already", (unsigned)port, path);
	return r;
}

static struct port *find_web(const struct entry *e, uint16_t port)
{
	struct port *p = e->ports.first;
	while (p && (port_place(p) || port_number(p) != port))
		p = port_next(p);
	return p;
}

static json_t *open_now(struct asking *a, struct entry *e, struct err *err)
{
	struct port *p = a->is_web ? find_web(e, a->port) : NULL;
	if (p) /* it is open already */
		return json_pack("{s:i, s:o}", "port", (int)a->port, "url_path", place_json(e, p));
	if (a->is_web && !e->owner[0]) {
		err_fail(err, ERR_DENIED, "give `listen` an address, such as 127.0.0.1:0, or unix",
			"only sessions that were made over HTTP are reached over HTTP");
		return NULL;
	}
	if (e->ports.n >= PORTS_SESSION_MAX) {
		err_fail(err, ERR_LIMIT, "close one with `port.close`",
			"the session has %d open ports already", PORTS_SESSION_MAX);
		return NULL;
	}
	if (a->is_unix && choose_path(e, a->port, &a->place, err) < 0)
		return NULL;
	const struct port_config config = {.engine = e->table->engine,
		.box_port = a->port,
		.place = a->is_web ? NULL : &a->place,
		.box = box_of,
		.arg = e};
	if (port_open(&p, &config, err) < 0)
		return NULL;
	port_list_add(&e->ports, p);
	return json_pack("{s:i, s:o}", "port", (int)a->port,
		a->is_web	     ? "url_path"
			: a->is_unix ? "path"
				     : "address",
		place_json(e, p));
}

/* Copy to @out the listeners that are programs, not the gateway. Returns: how many. */
static size_t take_programs(
	const struct entry *e, const struct listening *v, size_t n, struct listening *out)
{
	size_t n_out = 0;
	for (size_t i = 0; i < n; i++)
		if (!e->session || !session_is_gateway(e->session, v[i].address, v[i].port))
			out[n_out++] = v[i];
	return n_out;
}

static void on_listeners(void *arg, const struct listening *all, size_t n, const struct err *err)
{
	struct asking *a = arg;
	struct err failed;
	struct entry *e = err ? NULL : registry_find(a->registry, a->session, &failed);
	json_t *result = NULL;
	struct listening *v = xcalloc(n + 1, sizeof *v);
	n = e ? take_programs(e, all, n, v) : 0;
	if (e && a->port == 0) {
		result = ports_json(e, v, n);
	} else if (e && !listening_has(v, n, a->port)) {
		err_fail(&failed, ERR_NOT_FOUND,
			"start a server there first, or give `early`: `port.list` shows the ports",
			"nothing listens on port %u of the session", (unsigned)a->port);
	} else if (e) {
		result = open_now(a, e, &failed);
	}
	free(v);
	answer(a, result, err ? err : &failed);
}

static void on_box(void *arg, const json_t *nothing, const struct err *err)
{
	struct asking *a = arg;
	struct err failed;
	(void)nothing;
	struct entry *e = err ? NULL : registry_find(a->registry, a->session, &failed);
	struct box *box = e && e->session ? session_box(e->session) : NULL;
	if (box) {
		listening_ask(box, on_listeners, a);
		return;
	}
	if (e)
		err_fail(&failed, ERR_BUSY, "run a step first, or ask again",
			"the session has no box yet");
	answer(a, NULL, err ? err : &failed);
}

static struct asking *new_asking(
	struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct asking *a = xnew(struct asking);
	*a = (struct asking){.registry = r, .session = xstrdup(session), .done = done, .arg = arg};
	return a;
}

void registry_port_list(struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	registry_await_box(r, session, on_box, new_asking(r, session, done, arg));
}

static int admit_port(const struct registry *r, struct err *err)
{
	if (!r->owner || r->owner->may_name_host_paths)
		return 0;
	return err_fail(err, ERR_DENIED, "have paths=yes added to the caller's token",
		"%s may not open ports of the host", r->owner->name);
}

void registry_port_open(
	struct registry *r, const struct registry_port *port, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct asking *a = new_asking(r, port->session, done, arg);
	a->port = port->port;
	a->is_early = port->is_early;
	a->is_unix = strcmp(port->listen, "unix") == 0;
	a->is_web = strcmp(port->listen, "http") == 0;
	int bad = a->is_web ? 0 : admit_port(r, &err);
	if (bad == 0 && !a->is_unix && !a->is_web)
		bad = place_parse(&a->place, port->listen, &err);
	if (bad < 0) {
		answer(a, NULL, &err);
	} else if (a->is_early) {
		struct entry *e = registry_find(r, port->session, &err);
		answer(a, e ? open_now(a, e, &err) : NULL, &err);
	} else {
		registry_await_box(r, port->session, on_box, a);
	}
}

json_t *registry_port_close(struct registry *r, const char *session, uint16_t port, struct err *err)
{
	struct found found;
	if (registry_look_up(r, session, &found, err) < 0)
		return NULL;
	unsigned n = found.live ? port_list_close(&found.live->ports, port) : 0;
	if (n > 0)
		return json_pack("{s:i}", "closed", (int)n);
	err_fail(err, ERR_NOT_FOUND, "`port.list` shows them", "port %u of the session is not open",
		(unsigned)port);
	return NULL;
}

struct port_link *registry_port_connect(struct registry *r, const char *session, uint16_t port,
	const struct port_user *user, struct err *err)
{
	struct entry *e = registry_find(r, session, err);
	struct port *p = e ? find_web(e, port) : NULL;
	if (e && !p)
		err_fail(err, ERR_NOT_FOUND, "open it with `port.open` and `listen`: http",
			"port %u of the session is not open for HTTP", (unsigned)port);
	return p ? port_connect(p, user, err) : NULL;
}
