/*
 * Steps that are run again: to rebuild a session's state, or to check a record (recheck.c).
 *
 * A replay is a list of steps, from the first one to a head. Each step is run in the session with
 * the inputs that its record has: file name, time limit, standard input, and the answers to its
 * tool calls. The calls themselves are never made again (answer_call.c). If a step is a client's
 * change of a file, the change is repeated (put_file.c).
 *
 * Each new record is compared with the old one. The first difference is noted with its place
 * ("files[1].size"). The replay continues after a difference, because a state that is nearly right
 * is more useful than none. The session's next record reports the difference.
 *
 * There are three kinds of replay:
 *
 *     in a new box      replay_anew(): run all steps; the box has a template's state or is empty
 *     in the live box   `runtime` is set: run only the steps of this runtime, whose process has
 *                       ended; changed files are not compared, since they exist already
 *     of a recording    `is_borrowed` is set: run all steps of a recording, not of the journal
 *
 * A step that was stopped by its caller or its limit is stopped again after the same time. It may
 * have come less far or further by then, so a stopped step is always reported as a difference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/entry.h"
#include "registry/session_table.h"
#include "registry/replay.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/num.h"
#include "base/utf8.h"
#include "registry/put_file.h"
#include "session/box/lost_files.h"
#include "session/change.h"
#include "session/session.h"
#include "session/step/step_setting.h"
#include "store/file_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 100000 };

void replay_free(struct replay *replay)
{
	for (size_t i = 0; i < replay->n && !replay->is_borrowed; i++)
		journal_node_done(&replay->nodes[i]);
	if (!replay->is_borrowed)
		free(replay->nodes);
	json_decref(replay->inputs);
	json_decref(replay->calls);
	json_decref(replay->answers);
	free(replay);
}

/* ---- loading the list of steps ---- */

struct loading {
	struct replay *replay;
	struct journal *journal;
	const struct runtime *runtime;
	size_t room;
};

/* Return whether the step is part of the replay. If only one runtime's state is rebuilt, steps
 * of other runtimes are left out. */
static bool is_needed(const struct loading *l, const struct journal_node *node)
{
	return !l->runtime || strcmp(node->runtime, l->runtime->name) == 0;
}

static int add_node(void *user, const struct journal_node *node, struct err *err)
{
	struct loading *l = user;
	struct replay *r = l->replay;
	if (!is_needed(l, node))
		return 0;
	if (r->n == NODES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d steps to replay", NODES_MAX);
	if (r->n == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		struct journal_node *more = realloc(r->nodes, room * sizeof *more);
		if (!more)
			return err_set(err, ERR_NO_MEMORY, "no memory for the steps to replay");
		r->nodes = more;
		l->room = room;
	}
	int bad = journal_node_get(l->journal, node->digest, &r->nodes[r->n], err);
	r->n += bad == 0;
	return bad;
}

int replay_load(struct session_table *table, const char *head, const struct runtime *runtime,
	struct replay **out, struct err *err)
{
	struct replay *r = xnew(struct replay);
	r->runtime = runtime;
	struct loading l = {.replay = r, .journal = table->journal, .runtime = runtime};
	int64_t n = journal_brief(table->journal, head, 0, add_node, &l, err);
	if (n < 0) {
		replay_free(r);
		return (int)n;
	}
	/* The journal lists the newest step first, so reverse the list. */
	for (size_t i = 0; i < r->n / 2; i++) {
		struct journal_node node = r->nodes[i];
		r->nodes[i] = r->nodes[r->n - 1 - i];
		r->nodes[r->n - 1 - i] = node;
	}
	*out = r;
	return 0;
}

static int is_of(void *user, const struct journal_node *node, struct err *err)
{
	const struct runtime **runtime = user;
	(void)err;
	if (strcmp(node->runtime, (*runtime)->name) != 0)
		return 0;
	*runtime = NULL;
	return 1;
}

void replay_tell_due(const struct entry *e, json_t *out)
{
	struct err err;
	for (unsigned i = 0; e->is_mixed && i < RUNTIMES_MAX && runtime_at(i); i++) {
		const struct runtime *runtime = runtime_at(i), *missed = runtime;
		if (runtime->carry != CARRY_REPLAY || session_is_live(e->session, runtime))
			continue;
		(void)journal_ancestors(e->table->journal, e->head, 0, is_of, &missed, &err);
		if (!missed)
			(void)json_object_set_new(
				out, "runs_again", json_pack("[s]", runtime->name));
	}
}

/* ---- noting the result of a replay in its entry ---- */

void entry_note_rebuilt(struct entry *e, const struct replay *result)
{
	bool is_diverged = result->is_diverged || result->err.code;
	e->rebuilt = is_diverged ? RECORD_DIVERGED : RECORD_REPLAYED;
	e->is_rebuilt_told = false;
	e->difference[0] = '\0';
	if (result->err.code)
		snprintf(e->difference, sizeof e->difference, "%.*s",
			(int)utf8_cut(result->err.msg, strlen(result->err.msg), 150),
			result->err.msg);
	else if (is_diverged)
		replay_tell(result, e->difference, sizeof e->difference);
	if (result->runtime)
		return;
	json_t *lost = NULL;
	if (order_has_host_workspace(e->order))
		lost_files_workspace(&lost, NULL, -1);
	lost_files_volumes(&lost, e->order, NULL, 0);
	entry_note_rewritten(e, lost);
	json_decref(lost);
}

static bool has_path(const json_t *list, const json_t *path)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), path))
			return true;
	return false;
}

/* Note paths of files that a replay may have changed, even if it failed. The record of the next
 * successful step reports them. */
void entry_note_rewritten(struct entry *e, const json_t *lost)
{
	for (size_t i = 0; i < json_array_size(lost); i++) {
		if (!e->rewritten)
			e->rewritten = json_array();
		json_t *path = json_array_get(lost, i);
		if (!has_path(e->rewritten, path))
			(void)json_array_append(e->rewritten, path);
	}
}

/* ---- comparing new records with old ones ---- */

static char *text_of(const json_t *value)
{
	return value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
}

/*
 * Copy @text to @out, which has @room bytes. @text is one of two texts that were compared; both
 * begin with the same @n_common bytes. "…" stands for each part of @text that is left out:
 * - most of the first @n_common bytes, if these are many;
 * - the end of @text, if it does not fit.
 * If @text is NULL, write "absent".
 */
static void say(char *out, size_t room, const char *text, size_t n_common)
{
	enum { CONTEXT_BYTES = 24 };
	static const char mark[] = "…";
	if (!text)
		text = "absent";
	bool is_late = n_common > 2 * CONTEXT_BYTES;
	const char *from = text + (is_late ? n_common - CONTEXT_BYTES : 0);
	while (is_late && ((unsigned char)*from & 0xc0) == 0x80)
		from++;
	size_t bytes = strlen(from), n = utf8_cut(from, bytes, room - 2 * sizeof mark);
	snprintf(out, room, "%s%.*s%s", is_late ? mark : "", (int)n, from, n < bytes ? mark : "");
}

static void say_both(struct replay *r, const json_t *was, const json_t *is)
{
	char *a = text_of(was), *b = text_of(is);
	size_t n = 0;
	while (a && b && a[n] && a[n] == b[n])
		n++;
	say(r->was, sizeof r->was, a, n);
	say(r->is, sizeof r->is, b, n);
	free(a);
	free(b);
}

static bool is_same(const json_t *a, const json_t *b)
{
	return (!a && !b) || json_equal(a, b);
}

/* Find the first member of @a that @b lacks or has with another value. Returns: its name, or
 * NULL. */
static const char *member_of(json_t *a, const json_t *b)
{
	for (void *at = json_object_iter(a); at; at = json_object_iter_next(a, at)) {
		const char *name = json_object_iter_key(at);
		if (!is_same(json_object_iter_value(at), json_object_get(b, name)))
			return name;
	}
	return NULL;
}

/* Find the first member in which two objects differ. Returns: its name; NULL if @was or @is is
 * not an object, or they are equal. */
static const char *differing_member(json_t *was, json_t *is)
{
	if (!json_is_object(was) || !json_is_object(is))
		return NULL;
	const char *name = member_of(was, is);
	return name ? name : member_of(is, was);
}

static int add_name(char *out, size_t room, const char *name)
{
	enum { NAME_BYTES = 40 };
	bool is_word = strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name);
	return snprintf(out, room, is_word ? ".%.*s" : "[\"%.*s\"]",
		(int)utf8_cut(name, strlen(name), NAME_BYTES), name);
}

/* Find the first place in which @was and @is differ, such as files[1].size, and note it in @r. */
static void find_place(struct replay *r, json_t *was, json_t *is)
{
	enum { PART_BYTES = 48 };
	size_t at = (size_t)snprintf(r->place, sizeof r->place, "%s", r->field);
	while (at + PART_BYTES < sizeof r->place) {
		const char *name = differing_member(was, is);
		size_t i = 0, room = sizeof r->place - at;
		if (name) {
			at += (size_t)add_name(r->place + at, room, name);
			was = json_object_get(was, name);
			is = json_object_get(is, name);
			continue;
		}
		if (!json_is_array(was) || !json_is_array(is))
			break;
		while (is_same(json_array_get(was, i), json_array_get(is, i)))
			i++;
		at += (size_t)snprintf(r->place + at, room, "[%zu]", i);
		was = json_array_get(was, i);
		is = json_array_get(is, i);
	}
	say_both(r, was, is);
}

const char *replay_place(const struct replay *r)
{
	return r->place[0] ? r->place : r->field;
}

/* Note in @r as a difference that the step was stopped after @ms. The replay has stopped the step
 * after the same time. But by then the step may have done less work than in the first run, or more,
 * so its state may differ from the recorded state. */
static void say_stopped(struct replay *r, uint64_t ms)
{
	const struct num_text after = num_format_ms(ms);
	snprintf(r->field, sizeof r->field, "stopped");
	snprintf(r->was, sizeof r->was, "after %s", after.text);
	snprintf(r->is, sizeof r->is, "after %s again, perhaps at another place", after.text);
}

void replay_tell(const struct replay *r, char *out, size_t room)
{
	enum { SIDE_BYTES = 64 };
	char is[SIDE_BYTES], was[SIDE_BYTES];
	say(is, sizeof is, r->is, 0);
	say(was, sizeof was, r->was, 0);
	if (strcmp(r->field, "stopped") == 0)
		snprintf(out, room, "step %.12s: stopped %s", r->nodes[r->first].digest, r->is);
	else
		snprintf(out, room, "step %.12s: %s: %s, was %s", r->nodes[r->first].digest,
			replay_place(r), is, was);
}

/* Find the first difference between the records @was and @is, and note it in @r. Returns:
 * whether they differ. */
static bool find_difference(struct replay *r, const char *was, const char *is)
{
	json_t *old = json_loads(was, JSON_ALLOW_NUL, NULL);
	json_t *new = json_loads(is, JSON_ALLOW_NUL, NULL);
	const char *const fields[] = {"status", "error", "value", "stdout", "stderr", "displays",
		"exit_code", "signal", "truncated", "files"};
	/* If r->runtime is set, the replay runs the steps of only one runtime again, in a box
	 * that is still in use. The files that these steps made exist in the box already, so the
	 * records need not have the same "files". So do not compare "files", which is the last
	 * field. */
	size_t n_fields = ARRAY_LEN(fields) - (r->runtime != NULL);
	bool is_found = false;
	snprintf(r->field, sizeof r->field, "record");
	for (size_t i = 0; i < n_fields && !is_found; i++) {
		json_t *a = json_object_get(old, fields[i]), *b = json_object_get(new, fields[i]);
		if (is_same(a, b))
			continue;
		snprintf(r->field, sizeof r->field, "%s", fields[i]);
		find_place(r, a, b);
		is_found = true;
	}
	json_decref(old);
	json_decref(new);
	return is_found;
}

/* ---- running the steps ---- */

static void finish(struct entry *e)
{
	struct replay *r = take_ptr(e->replay);
	r->done(e, r);
	replay_free(r);
}

void replay_abort(struct entry *e, const struct err *why)
{
	if (!e->replay)
		return;
	e->replay->err = *why;
	finish(e);
}

/* Find out after what time a step was stopped. The work that it had done by then is part of the
 * state, so a replay must stop it after the same time. Returns: the time in ms, at least 1; 0 if
 * the step was not stopped. */
static uint64_t stopped_after_ms(const struct journal_node *node)
{
	bool is_stopped = strcmp(node->status, record_status_word(RECORD_KILLED)) == 0 ||
		strcmp(node->status, record_status_word(RECORD_TIMEOUT)) == 0;
	json_t *extra = is_stopped ? json_loads(node->extra, 0, NULL) : NULL;
	const json_t *usage = json_object_get(extra, "usage");
	double ms = json_number_value(json_object_get(usage, "wall_ms")) -
		json_number_value(json_object_get(usage, "waited_ms"));
	json_decref(extra);
	return is_stopped ? MAX((uint64_t)MAX(ms, 0), UINT64_C(1)) : 0;
}

/* A record may come from a caller. */
static bool are_texts(const json_t *list)
{
	size_t i;
	const json_t *item;
	json_array_foreach(list, i, item) if (!json_is_string(item)) return false;
	return json_is_array(list);
}

/* Set the inputs of a step to those in its record: file name, time limit, standard input,
 * tool calls and setting. step_order_note_inputs() has written them there. */
static void take_inputs(struct entry *e, struct step_order *like)
{
	struct replay *r = e->replay;
	struct err ignored;
	static const char *const names[] = {"filename", "timeout_ms", "stdin", "calls", "script",
		"env", "scope", "fresh_scope", "cwd"};
	json_t *record = json_loads(r->nodes[r->at].record, JSON_ALLOW_NUL, NULL);
	json_decref(r->inputs);
	r->inputs = json_object();
	like->stop_ms = stopped_after_ms(&r->nodes[r->at]);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		json_t *value = json_object_get(record, names[i]);
		if (value)
			(void)json_object_set(r->inputs, names[i], value);
	}
	json_decref(record);
	const json_t *input = json_object_get(r->inputs, "stdin");
	json_int_t timeout_ms = json_integer_value(json_object_get(r->inputs, "timeout_ms"));
	e->is_mixed |= like->runtime->carry == CARRY_REPLAY;
	const json_t *script = json_object_get(r->inputs, "script");
	like->filename = json_string_value(json_object_get(r->inputs, "filename"));
	like->is_script = script != NULL;
	like->args = are_texts(script) ? json_incref(json_unconst(script)) : NULL;
	like->setting = step_setting_pick(r->inputs);
	if (step_setting_check(like->setting, like->runtime, like->is_script, &ignored) < 0) {
		json_decref(like->setting);
		like->setting = NULL;
	}
	like->timeout_ms = (uint64_t)MAX(timeout_ms, 0);
	like->inputs = json_incref(r->inputs);
	if (!json_is_string(input))
		return;
	like->stdin_fd = step_memory_file(json_string_value(input), json_string_length(input));
	if (like->stdin_fd < 0)
		err_set(&r->err, ERR_IO, "cannot store the input of step %.12s",
			r->nodes[r->at].digest);
}

/* Return whether one of the earlier steps of this replay ran in a process that has ended since.
 * Check only runtimes whose state cannot be copied (CARRY_REPLAY). */
static bool has_lost_process(struct entry *e)
{
	const struct replay *r = e->replay;
	for (size_t i = 0; i < r->at; i++) {
		const struct runtime *runtime = runtime_by_name(r->nodes[i].runtime);
		if (runtime && runtime->carry == CARRY_REPLAY &&
			!session_is_live(e->session, runtime))
			return true;
	}
	return false;
}

/* Fail the replay if the state that its earlier steps have made is lost. It is lost if a process
 * was killed between two steps. A script is the last step, and ends its process itself. */
static void check_process(struct entry *e)
{
	struct replay *r = e->replay;
	session_notice(e->session);
	bool is_half = !r->is_diverged && !session_is_spent(e->session) && has_lost_process(e);
	if (r->at == 0 || r->err.code || (!is_half && !session_is_lost(e->session)))
		return;
	err_set(&r->err, ERR_GONE, "the session's process ended while its state was rebuilt");
	if (!r->runtime)
		session_spoil(e->session);
}

static void run_next(struct entry *e);

static void on_file_redone(void *arg, const struct err *err)
{
	struct entry *e = arg;
	struct replay *r = e->replay;
	if (err && !r->is_diverged) {
		r->first = r->at;
		r->is_diverged = true;
		snprintf(r->field, sizeof r->field, "file");
		say(r->was, sizeof r->was, "done", 0);
		say(r->is, sizeof r->is, err->msg, 0);
	}
	session_changed(e->session, r->nodes[r->at++].digest);
	run_next(e);
}

static void run_next(struct entry *e)
{
	struct replay *r = e->replay;
	check_process(e);
	if (r->err.code || r->at == r->n) {
		finish(e);
		return;
	}
	const struct journal_node *node = &r->nodes[r->at];
	if (file_step_is(node)) {
		if (put_file_redo(e, node, on_file_redone, &r->err) < 0)
			finish(e);
		return;
	}
	struct step_order like = {.runtime = runtime_by_name(node->runtime),
		.code = node->code,
		.code_bytes = node->code_bytes,
		.stdin_fd = -1,
		.is_rebuild = r->runtime != NULL,
		.is_again = true};
	if (!like.runtime)
		err_set(&r->err, ERR_RUNTIME, "no runtime %s", node->runtime);
	else
		take_inputs(e, &like);
	replay_begin_calls(r, node);
	struct step_order *order = r->err.code ? NULL : step_order_new(&like, &r->err);
	if (!order || session_run(e->session, order, NULL, &r->err) < 0)
		finish(e);
	step_order_let_go(order);
}

void replay_start(struct entry *e, struct replay *replay, replay_done_fn *done)
{
	replay->done = done;
	e->replay = replay;
	run_next(e);
}

void replay_anew(struct entry *e, struct replay *replay, replay_done_fn *done)
{
	session_renew(e->session, e->template ? template_stem(e->template) : NULL);
	replay_start(e, replay, done);
}

void replay_step_done(struct entry *e, const struct record *record)
{
	struct replay *r = e->replay;
	const struct journal_node *node = &r->nodes[r->at];
	const char *is = record->canonical ? record->canonical : "";
	uint64_t stopped_ms = stopped_after_ms(node);
	replay_end_calls(r);
	if (!r->is_diverged && stopped_ms > 0) {
		r->first = r->at;
		r->is_diverged = true;
		say_stopped(r, stopped_ms);
	} else if (!r->is_diverged && strcmp(node->record, is) != 0) {
		r->first = r->at;
		r->is_diverged = find_difference(r, node->record, is) || !r->runtime;
	}
	r->at++;
	if (!r->runtime)
		/* This digest becomes the name of the new checkpoint. */
		session_set_head(e->session, node->digest);
	run_next(e);
}
