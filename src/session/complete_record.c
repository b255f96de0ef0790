/*
 * Adds the list of files and the step's name to the record of a step that has ended.
 *
 * The output of a step is made valid UTF-8, written as JSON and hashed, which takes half a second
 * for 20 MiB. Listing ten thousand files and comparing them with the previous list takes 30 ms. If
 * there is much to do, a thread of the pool does it, so that other callers do not wait.
 *
 * Meanwhile only that thread uses the record. Output and frames from the box are ignored
 * (STEP_NAMING), and the caller's data (code, inputs) is copied or referenced.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/complete_record.h"

#include "base/json.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "session/inside.h"

#include <stdlib.h>
#include <string.h>

enum { NAMING_INLINE_BYTES = 256 << 10, NAMING_INLINE_FILES = 1000, FILE_ROW_BYTES = 128 };

struct completion {
	uv_work_t work;
	struct session *session;
	struct box *box; /* counted reference to the box whose files the thread lists, or NULL */
	const struct workspace *then;
	struct workspace after;
	unsigned n_put_off;
};

/* ---- list of the workspace's files ---- */

/* Return whether the file was only rewritten with its old content. SQLite does that when it
 * rolls back a transaction that did not fit into its cache. */
static bool is_undone(
	const struct session *s, enum workspace_change change, const struct workspace_file *file)
{
	const struct shadow *then = s->is_shadow_due ? NULL : save_files_newest(s);
	return s->record.undone && change == WORKSPACE_MODIFIED && then &&
		shadow_has_bytes(then, file, s->box->workspace_fd);
}

static void add_change(void *arg, enum workspace_change change, const struct workspace_file *file)
{
	static const char *const words[] = {"created", "modified", "deleted"};
	struct session *s = arg;
	struct record *record = &s->record;
	if (file->kind != WORKSPACE_FILE || is_undone(s, change, file) ||
		record_add_path(record, change == WORKSPACE_DELETED ? NULL : file->path) < 0)
		return;
	json_t *row = json_need(json_object());
	json_put_text(row, "path", file->path);
	json_put_text(row, "change", words[change]);
	json_put_int(row, "size", (int64_t)file->size_bytes);
	json_put_text(row, "mime", workspace_mime(file->path));
	json_add_new(record->files, row);
}

static void tell_changes(
	struct session *s, const struct workspace *then, const struct workspace *after)
{
	workspace_compare(then, after, add_change, s);
	s->record.files_cut = after->is_cut;
}

static void take_files(struct session *s, struct workspace *after)
{
	workspace_done(&s->before);
	s->before = *after;
	*after = (struct workspace){0};
	s->is_shadow_due = true;
}

/* List the workspace's files and add the changes to the record, unless there are more than @max
 * files. Returns: whether there are more than @max files. */
static bool list_few(struct session *s, size_t max)
{
	struct err err;
	struct workspace after;
	const struct workspace *then = session_files(s);
	if (!s->box)
		return false;
	if (then->n_files > max)
		return true;
	if (workspace_scan_some(&after, s->box->workspace_fd, max, &err) < 0)
		return false;
	if (after.is_cut && max < WORKSPACE_FILES_MAX) {
		workspace_done(&after);
		return true;
	}
	tell_changes(s, then, &after);
	take_files(s, &after);
	return false;
}

static void list_all(struct completion *n)
{
	struct err err;
	if (workspace_scan(&n->after, n->box->workspace_fd, &err) < 0)
		n->then = NULL;
	else
		tell_changes(n->session, n->then, &n->after);
}

/* ---- completing the record: at once, or on a thread if that takes long ---- */

static size_t record_bytes(const struct session *s)
{
	const struct record *r = &s->record;
	size_t bytes = s->step->code_bytes + r->result_bytes + r->displays_bytes +
		r->n_paths * FILE_ROW_BYTES;
	for (size_t i = 0; i < ARRAY_LEN(r->out); i++)
		bytes += r->out[i].head.bytes + r->out[i].tail.bytes;
	return bytes;
}

static void name(struct session *s)
{
	const struct step_order *order = s->step;
	s->record.image = s->order->image;
	for (size_t i = 0; i < ARRAY_LEN(s->record.out) && !s->is_once; i++)
		capture_settle(&s->record.out[i]);
	record_name(
		&s->record, s->head, order->code, order->code_bytes, order->argv, order->inputs);
	for (size_t i = 0; i < ARRAY_LEN(s->record.out) && !s->is_once; i++)
		capture_done(&s->record.out[i]); /* the record's `outputs` has the text now */
}

static void work(uv_work_t *work)
{
	struct completion *n = work->data;
	if (n->box)
		list_all(n);
	name(n->session);
}

static void free_naming(struct completion *n)
{
	if (n->box)
		box_let_go(n->box);
	workspace_done(&n->after);
	free(n);
}

static void wait(uv_work_t *work)
{
	(void)work;
}

static void done(uv_work_t *work, int status)
{
	struct completion *n = work->data;
	struct session *s = n->session;
	/* It takes long to pass on a long record. If this turn of the loop has already taken
	 * long, put the record off to a later turn. */
	if (timer_is_late(s->engine->loop, &n->n_put_off) &&
		uv_queue_work(s->engine->loop, work, wait, done) == 0)
		return;
	(void)status; /* always 0, because the work is never cancelled */
	if (n->box && n->then)
		take_files(s, &n->after);
	free_naming(n);
	if (s->state == SESSION_CLOSING) {
		session_handle_gone(s);
		return;
	}
	s->n_handles--;
	step_event(s, STEP_NAMED);
}

static bool start_work(struct session *s, bool is_listing)
{
	struct completion *n = xnew(struct completion);
	*n = (struct completion){.work = {.data = n}, .session = s};
	if (is_listing) {
		n->box = box_hold(s->box);
		n->then = session_files(s);
	}
	if (uv_queue_work(s->engine->loop, &n->work, work, done) == 0) {
		s->n_handles++;
		return true;
	}
	free_naming(n);
	return false;
}

void complete_record(struct session *s)
{
	/* In `once` mode all work is done here. No other caller waits, so no thread is needed.
	 * And a thread could not use the step's arguments, because they belong to the caller. */
	bool is_listing = list_few(s, s->is_once ? WORKSPACE_FILES_MAX : NAMING_INLINE_FILES);
	bool is_long = is_listing || record_bytes(s) > NAMING_INLINE_BYTES;
	if (!s->is_once && is_long && start_work(s, is_listing))
		return;
	if (is_listing)
		(void)list_few(s, WORKSPACE_FILES_MAX);
	name(s);
	step_event(s, STEP_NAMED);
}
