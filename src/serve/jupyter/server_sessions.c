/* The sessions of the front "jupyter", which are names that clients give to kernels. They end with
 * their kernel, and their kernel with them. SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/server.h"

#include "api/operation/principal.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { SESSIONS_MAX = 4096, TEXT_MAX = 4096 };

/* ---- the list ---- */

static void session_free(struct server_session *s)
{
	json_decref(s->path);
	json_decref(s->name);
	json_decref(s->type);
	free(s);
}

void server_forget_sessions(struct server *server, const struct server_kernel *k)
{
	struct server_session **link = &server->sessions;
	while (*link) {
		struct server_session *s = *link;
		if (s->kernel == k) {
			*link = s->next;
			session_free(s);
		} else {
			link = &s->next;
		}
	}
}

static bool is_mine(const struct front_call *c, const struct server_session *s)
{
	return s->kernel->context->principal == c->context->principal;
}

static json_t *session_json(const struct server_session *s)
{
	return json_pack("{s:s, s:O, s:O, s:O, s:o, s:{s:O, s:O}}", "id", s->id, "path", s->path,
		"name", s->name, "type", s->type, "kernel", server_kernel_json(s->kernel),
		"notebook", "path", s->path, "name", s->name);
}

void server_start_sessions(struct front_call *c)
{
	json_t *all = json_need(json_array());
	for (const struct server_session *s = server_of(c)->sessions; s; s = s->next)
		if (is_mine(c, s))
			json_add_new(all, session_json(s));
	front_answer(c, 200, all);
}

static bool is_same(const json_t *a, const json_t *b)
{
	return json_equal(json_unconst(a), json_unconst(b));
}

/* ---- making a session ---- */

/* Read a text of @body; null and a missing one are @fallback. Returns: NULL: it is none, or too
 * long. Owns: the caller decrefs. */
static json_t *read_text(const json_t *body, const char *member, const char *fallback)
{
	json_t *value = json_object_get(body, member);
	if (!value || json_is_null(value))
		return fallback ? json_need(json_string(fallback)) : NULL;
	return json_is_string(value) && json_string_length(value) <= TEXT_MAX ? json_incref(value)
									      : NULL;
}

/* Give @k a session as the body of @c says, which was checked. */
static void add_session(struct front_call *c, struct server_kernel *k)
{
	struct server *server = server_of(c);
	struct server_session *s = xnew(struct server_session);
	s->kernel = k;
	server_make_id(s->id);
	s->path = read_text(c->kept, "path", "");
	s->name = read_text(c->kept, "name", "");
	s->type = read_text(c->kept, "type", "");
	s->next = server->sessions;
	server->sessions = s;
	server_set_location(c, "/api/sessions/", s->id);
	front_answer(c, 201, session_json(s));
}

static void on_started(struct front_call *c, struct server_kernel *k, const struct err *err)
{
	if (k)
		add_session(c, k);
	else
		front_fail(c, err);
}

/* Find the kernel, or the language, that @wanted is: {"id": …} or {"name": …}. Returns: whether
 * there is one; otherwise the request was answered. */
static bool read_kernel(struct front_call *c, const json_t *wanted, struct server_kernel **k,
	const struct server_spec **spec)
{
	const char *id = json_get_text(wanted, "id"), *name = json_get_text(wanted, "name");
	*k = id[0] ? server_find_kernel(c, id, strlen(id)) : NULL;
	*spec = id[0] ? NULL : server_find_spec(name);
	if (*k || *spec)
		return true;
	if (id[0])
		server_refuse(c, 404, "No such kernel");
	else
		front_answer(c, 501,
			json_pack("{s:s, s:s}", "message",
				"there is no such kernel: GET /api/kernelspecs lists them",
				"short_message", "kernel not found"));
	return false;
}

static unsigned count(const struct server *server)
{
	unsigned n = 0;
	for (const struct server_session *s = server->sessions; s; s = s->next)
		n++;
	return n;
}

/* Older clients write path and name into "notebook". */
static json_t *read_body(const struct front_call *c)
{
	json_t *out = json_need(json_copy(c->body));
	const json_t *notebook = json_object_get(c->body, "notebook");
	if (!json_is_object(notebook))
		return out;
	if (!json_object_get(out, "path"))
		json_put_shared(out, "path", json_object_get(notebook, "path"));
	if (!json_object_get(out, "type"))
		json_put_text(out, "type", "notebook");
	return out;
}

/* Check that what @body has of a session are texts. */
static bool is_well(const json_t *body, bool is_new)
{
	static const char *const members[] = {"path", "type", "name"};
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		bool is_needed = is_new && i < 2;
		json_t *text = read_text(body, members[i], is_needed ? NULL : "");
		if (!text)
			return false;
		json_decref(text);
	}
	return true;
}

void server_start_new_session(struct front_call *c)
{
	struct server *server = server_of(c);
	struct server_kernel *k;
	const struct server_spec *spec;
	c->kept = read_body(c);
	if (!is_well(c->kept, true)) {
		server_refuse(c, 400, "path and type must be texts of up to 4096 bytes");
		return;
	}
	for (const struct server_session *s = server->sessions; s; s = s->next)
		if (is_mine(c, s) && is_same(s->path, json_object_get(c->kept, "path"))) {
			server_set_location(c, "/api/sessions/", s->id);
			front_answer(c, 201, session_json(s));
			return;
		}
	if (count(server) >= SESSIONS_MAX) {
		server_refuse(c, 503, "4096 sessions are open, which is the limit");
		return;
	}
	if (!read_kernel(c, json_object_get(c->kept, "kernel"), &k, &spec))
		return;
	if (k)
		add_session(c, k);
	else
		server_make_kernel(c, spec, on_started);
}

/* ---- requests for one session ---- */

static struct server_session *read_session(struct front_call *c)
{
	char path[SERVER_PATH_BYTES];
	bool has_path = server_read_path(c, "/api/sessions/", path);
	for (struct server_session *s = server_of(c)->sessions; has_path && s; s = s->next)
		if (is_mine(c, s) && strcmp(s->id, path) == 0)
			return s;
	server_refuse(c, 404, "Session not found");
	return NULL;
}

void server_start_session(struct front_call *c)
{
	const struct server_session *s = read_session(c);
	if (s)
		front_answer(c, 200, session_json(s));
}

static void set_text(json_t **text, const json_t *body, const char *member)
{
	json_t *value = read_text(body, member, NULL);
	if (!value)
		return;
	json_decref(*text);
	*text = value;
}

/* Give the session another kernel; the earlier one ends, unless another session has it. */
static void set_kernel(struct server_session *s, struct server_kernel *k)
{
	struct server_kernel *earlier = s->kernel;
	const struct server_session *other = k->server->sessions;
	s->kernel = k;
	while (other && other->kernel != earlier)
		other = other->next;
	if (k != earlier && !other)
		server_end_kernel(earlier, NULL);
}

/* The kernel for a session was made. The session may be gone by now. */
static void on_changed(struct front_call *c, struct server_kernel *k, const struct err *err)
{
	const char *id = json_get_text(c->kept, "id");
	struct server_session *s = server_of(c)->sessions;
	while (s && strcmp(s->id, id) != 0)
		s = s->next;
	if (k && s) {
		set_kernel(s, k);
		front_answer(c, 200, session_json(s));
	} else if (k) {
		server_end_kernel(k, NULL);
		server_refuse(c, 404, "Session not found");
	} else {
		front_fail(c, err);
	}
}

void server_start_session_change(struct front_call *c)
{
	struct server_session *s = read_session(c);
	struct server_kernel *k = NULL;
	const struct server_spec *spec = NULL;
	if (!s)
		return;
	c->kept = read_body(c);
	const json_t *wanted = json_object_get(c->kept, "kernel");
	bool has_kernel = json_get_text(wanted, "id")[0] || json_get_text(wanted, "name")[0];
	if (!is_well(c->kept, false)) {
		server_refuse(c, 400, "path, name and type must be texts of up to 4096 bytes");
		return;
	}
	if (has_kernel && !read_kernel(c, wanted, &k, &spec))
		return;
	set_text(&s->path, c->kept, "path");
	set_text(&s->name, c->kept, "name");
	set_text(&s->type, c->kept, "type");
	json_put_text(c->kept, "id", s->id);
	if (k)
		set_kernel(s, k);
	if (spec)
		server_make_kernel(c, spec, on_changed);
	else
		front_answer(c, 200, session_json(s));
}

void server_start_session_end(struct front_call *c)
{
	struct server_session *s = read_session(c);
	if (s)
		server_end_kernel(s->kernel, c);
}
