/*
 * Snapshots and forks: branches of the session of a sandbox.
 *
 * A fork is a branch that is a sandbox of its own. A snapshot is a branch that nobody uses, except
 * that new sandboxes are branches of it. Processes go on in the sandbox and are not in a branch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/e2b/inside.h"

#include "base/alloc.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG "default"

enum { SNAPSHOTS_MAX = 1024, FORKS_MAX = 100, ID_BYTES = 256 };

static json_t *branch_params(const char *session, const char *name)
{
	return json_need(json_pack(
		"{s:s, s:s, s:b}", "session", session, "name", name, "keep_processes", 1));
}

static json_t *copy_of(const json_t *value)
{
	return value ? json_need(json_deep_copy(value)) : NULL;
}

/* ---- snapshots ---- */

json_t *e2b_snapshot_json(const struct e2b_snapshot *s)
{
	return json_pack("{s:O, s:O}", "snapshotID", s->id, "names", s->names);
}

struct e2b_snapshot *e2b_find_snapshot(const struct front_call *c, const char *id)
{
	char whole[ID_BYTES];
	const char *slash = strrchr(id, '/');
	id = slash ? slash + 1 : id;
	if (strlen(id) + sizeof ":" TAG > sizeof whole)
		return NULL;
	snprintf(whole, sizeof whole, "%s%s", id, strchr(id, ':') ? "" : ":" TAG);
	for (struct e2b_snapshot *s = e2b_of(c)->snapshots; s; s = s->next)
		if (s->context->principal == c->context->principal &&
			strcmp(json_string_value(s->id), whole) == 0)
			return s;
	return NULL;
}

static void free_snapshot(struct e2b_snapshot *s)
{
	json_t *const parts[] = {
		s->id, s->names, s->origin, s->env, s->rules, s->network, s->contexts};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		json_decref(parts[i]);
	s->e2b->n_snapshots--;
	free(s);
}

static void on_ended(void *arg, const json_t *result, const struct err *err)
{
	struct e2b_snapshot *s = arg;
	struct front_call *c = s->caller;
	(void)result;
	(void)err; /* a session that is gone is closed, too */
	free_snapshot(s);
	if (c)
		front_answer_empty(c);
}

void e2b_end_snapshot(struct e2b_snapshot *s, struct front_call *c)
{
	const struct operation_listener listener = {.arg = s, .done = on_ended};
	for (struct e2b_snapshot **link = &s->e2b->snapshots; *link; link = &(*link)->next)
		if (*link == s) {
			*link = s->next;
			break;
		}
	s->caller = c;
	json_t *params = json_need(json_pack("{s:s}", "session", s->session));
	operation_start(s->context, operation_find("session.close"), params, &listener, &s->call);
	json_decref(params);
}

/* The branch is made, or not. A snapshot with the same name is replaced. */
static void on_snapshot(struct front_call *c, const json_t *result, const struct err *err)
{
	struct e2b_snapshot *s = c->own;
	const struct err gone = {.code = ERR_INTERRUPTED, .msg = "the engine is being stopped"};
	if (!result) {
		free_snapshot(s);
		front_fail(c, err);
		return;
	}
	if (e2b_has_left(c) || s->e2b->is_closing) { /* nobody knows it */
		e2b_end_snapshot(s, NULL);
		front_fail(c, &gone);
		return;
	}
	struct e2b_snapshot *old = e2b_find_snapshot(c, json_string_value(s->id));
	if (old)
		e2b_end_snapshot(old, NULL);
	s->idle_ms = (uint64_t)json_get_int(result, "idle_ms");
	s->next = s->e2b->snapshots;
	s->e2b->snapshots = s;
	front_answer(c, 201, e2b_snapshot_json(s));
}

static bool is_word(const char *text, size_t n)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	return n > 0 && n <= 128 && strspn(text, letters) >= n;
}

/* Set the id and the names. Returns: false if @name is not NAME or NAME:TAG, or is taken. */
static bool name_snapshot(struct e2b_snapshot *s, const char *name)
{
	char id[ID_BYTES], plain[E2B_NAME_BYTES];
	size_t n = strcspn(name, ":");
	const char *tag = name[n] ? name + n + 1 : TAG;
	s->names = json_need(json_array());
	if (name[0] && (!is_word(name, n) || !is_word(tag, strlen(tag))))
		return false;
	snprintf(id, sizeof id, "%.*s:%s", name[0] ? (int)n : (int)strlen(s->session),
		name[0] ? name : s->session, tag);
	s->id = json_new_text(id, strlen(id));
	if (name[0])
		json_add_text(s->names, id);
	snprintf(plain, sizeof plain, "%.*s", (int)n, name);
	return !e2b_is_plain(plain);
}

void e2b_start_snapshot(struct front_call *c, struct e2b_sandbox *of)
{
	static const struct e2b_member members[] = {{"name", E2B_TEXT, .max = 200}};
	struct e2b *e = e2b_of(c);
	if (!e2b_check(c, c->body, members, ARRAY_LEN(members)))
		return;
	if (e->n_snapshots >= SNAPSHOTS_MAX) {
		struct err err;
		(void)err_fail(&err, ERR_QUOTA, "delete some", "%u snapshots, limit %d",
			e->n_snapshots, SNAPSHOTS_MAX);
		front_fail(c, &err);
		return;
	}
	struct e2b_snapshot *s = c->own = xnew(struct e2b_snapshot);
	s->e2b = e;
	e->n_snapshots++;
	s->context = c->context;
	s->made_ms = e2b_now();
	e2b_make_id(s->session, sizeof s->session, "n");
	s->origin = json_new_text(of->id, strlen(of->id));
	s->env = copy_of(of->env);
	s->rules = copy_of(of->rules);
	s->network = copy_of(of->network);
	s->contexts = copy_of(of->contexts);
	if (!name_snapshot(s, json_get_text(c->body, "name"))) {
		free_snapshot(s);
		e2b_refuse(c, 400,
			"name must be NAME or NAME:TAG, of letters, digits, - and _, and no name "
			"of a template of E2B");
		return;
	}
	front_operate(c, "session.branch", branch_params(of->id, s->session), on_snapshot);
}

/* ---- forks: one after the other ---- */

static void fork_next(struct front_call *c);

static void note_error(struct front_call *c, int code, const char *message)
{
	json_add_new(json_object_get(c->kept, "results"),
		json_pack("{s:{s:i, s:o}}", "error", "code", code, "message",
			json_new_text(message, strlen(message))));
}

static void on_forked(struct front_call *c, struct e2b_sandbox *s, const struct err *err)
{
	if (s) {
		json_add_new(json_object_get(c->kept, "results"),
			json_pack("{s:o}", "sandbox", e2b_sandbox_json(s)));
		json_add_text(json_object_get(c->kept, "ids"), s->id);
	} else {
		note_error(c, err_http(err->code), err->msg);
	}
	fork_next(c);
}

static void fork_one(struct front_call *c, const struct e2b_sandbox *of)
{
	struct e2b_sandbox *s = e2b_new(c);
	s->template = json_incref(of->template);
	s->metadata = copy_of(of->metadata);
	s->host = json_incref(of->host);
	s->network = copy_of(of->network);
	s->rules = copy_of(of->rules);
	s->contexts = copy_of(of->contexts);
	s->is_paused_late = of->is_paused_late;
	s->is_paused_cold = of->is_paused_cold;
	s->resumes_itself = of->resumes_itself;
	s->is_copy = true;
	s->env = copy_of(of->env);
	json_put_text(s->env, "E2B_SANDBOX_ID", s->id);
	s->started_ms = e2b_now();
	e2b_set_time(s, (uint64_t)json_get_int(c->kept, "timeout"));
	e2b_make(c, s, "session.branch", branch_params(of->id, s->id), on_forked);
}

/* The client has gone, so nobody knows the forks. */
static void end_forks(struct front_call *c)
{
	const struct err gone = {.code = ERR_INTERRUPTED, .msg = "the client has gone"};
	size_t i;
	json_t *id;
	json_array_foreach(json_object_get(c->kept, "ids"), i, id)
	{
		struct e2b_sandbox *s = e2b_find_own(c, json_string_value(id));
		if (s)
			e2b_end(s, NULL);
	}
	front_fail(c, &gone);
}

static void fork_next(struct front_call *c)
{
	const struct e2b_sandbox *of = e2b_find_own(c, json_get_text(c->kept, "of"));
	int64_t left = json_get_int(c->kept, "left");
	if (e2b_has_left(c)) {
		end_forks(c);
		return;
	}
	for (; left > 0 && !of; left--)
		note_error(c, 404, "the sandbox has ended");
	json_put_int(c->kept, "left", left - 1);
	if (left > 0)
		fork_one(c, of);
	else
		front_answer(c, 201, json_incref(json_object_get(c->kept, "results")));
}

void e2b_start_fork(struct front_call *c, struct e2b_sandbox *s)
{
	static const struct e2b_member members[] = {
		{"timeout", E2B_COUNT, .max = E2B_TIMEOUT_MAX_S},
		{"count", E2B_COUNT, .max = FORKS_MAX}};
	if (!e2b_check(c, c->body, members, ARRAY_LEN(members)))
		return;
	const json_t *seconds = json_object_get(c->body, "timeout");
	const json_t *count = json_object_get(c->body, "count");
	int64_t n = count ? json_integer_value(count) : 1;
	if (n == 0) {
		e2b_refuse(c, 400, "count must be a whole number from 1 to %d", FORKS_MAX);
		return;
	}
	c->kept = json_need(json_pack("{s:s, s:I, s:I, s:[], s:[]}", "of", s->id, "left",
		(json_int_t)n, "timeout",
		seconds ? json_integer_value(seconds) : (json_int_t)E2B_OLD_TIMEOUT_S, "results",
		"ids"));
	fork_next(c);
}
