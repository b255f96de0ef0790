/*
 * Saves the workspace's files between two steps, for checkpoints.
 *
 * Unchanged files are taken from the previous save, so usually only a few files are read. Reading
 * many files takes longer than other callers of the engine should wait, so a thread does it. While
 * the thread works, only the thread uses the list of files and their blobs. A step, a client's
 * change or a restoration has to wait for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/timer.h"
#include "session/box/lost_files.h"
#include "session/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINE_FILES = 500 };

struct files_saving {
	uv_work_t work;
	struct session *session;
	struct box *box; /* counted reference */
	struct shadow *now;
	struct workspace scratch[RESTORE_SCRATCH];
	char head[DIGEST_BYTES];
	bool is_newer; /* @now replaces the files that the head's checkpoint already has */
	/* A file changed after this pass began, so @now must not be stored in a checkpoint. */
	bool is_behind;
};

struct shadow *save_files_newest(const struct session *s)
{
	return s->saving && s->saving->box == s->box ? s->saving->now : s->shadow;
}

const struct workspace *session_files(const struct session *s)
{
	const struct shadow *newest = save_files_newest(s);
	return s->is_shadow_due || !newest ? &s->before : shadow_files(newest);
}

void save_files_is_behind(struct session *s)
{
	if (s->saving)
		s->saving->is_behind = true;
}

static void read_all(struct files_saving *k)
{
	shadow_read(k->now, k->box->workspace_fd);
	restore_note(k->scratch, k->box);
}

static void work(uv_work_t *work)
{
	read_all(work->data);
}

static void put(struct session *s, struct files_saving *k)
{
	shadow_let_go(s->shadow);
	s->shadow = shadow_hold(k->now);
	for (size_t i = 0; i < RESTORE_SCRATCH && !s->is_scratch_kept; i++) {
		workspace_done(&s->scratch[i]);
		s->scratch[i] = k->scratch[i];
		k->scratch[i] = (struct workspace){0};
	}
	s->is_scratch_kept = s->is_rebuilding;
	for (unsigned i = 0; i < s->points.n; i++) {
		struct checkpoint *c = s->points.v[i];
		if (k->is_behind || (c->files && !k->is_newer) || strcmp(c->step, k->head) != 0)
			continue;
		shadow_let_go(c->files);
		c->files = shadow_hold(k->now);
	}
}

static void free_saving(struct files_saving *k)
{
	for (size_t i = 0; i < RESTORE_SCRATCH; i++)
		workspace_done(&k->scratch[i]);
	shadow_let_go(k->now);
	box_let_go(k->box);
	free(k);
}

static void done(uv_work_t *work, int status)
{
	struct files_saving *k = work->data;
	struct session *s = k->session;
	(void)status; /* always 0, because the work is never cancelled */
	s->saving = NULL;
	if (s->state == SESSION_CLOSING) {
		free_saving(k);
		session_handle_gone(s);
		return;
	}
	s->n_handles--;
	if (s->box == k->box)
		put(s, k);
	free_saving(k);
	if (s->is_shadow_due && session_is_idle(s))
		timer_start(&s->idle, session_on_idle, 0, 0);
	restore_proceed(s);
	if (s->state == SESSION_OPEN) /* a listener may have closed the session */
		step_proceed(s);
}

static bool is_long(const struct session *s, const struct files_saving *k)
{
	size_t n = shadow_count_due(k->now);
	for (size_t i = 0; i < RESTORE_SCRATCH; i++)
		n += s->scratch[i].n_files;
	return n > INLINE_FILES;
}

static void start(struct session *s, bool is_newer)
{
	struct err err;
	struct files_saving *k = xnew(struct files_saving);
	if (shadow_begin(&k->now, &s->before, s->shadow, &err) < 0) {
		free(k);
		return;
	}
	k->work.data = k;
	k->session = s;
	k->box = box_hold(s->box);
	k->is_newer = is_newer;
	snprintf(k->head, sizeof k->head, "%s", s->head);
	s->is_shadow_due = false;
	if (is_long(s, k) && uv_queue_work(s->engine->loop, &k->work, work, done) == 0) {
		s->saving = k;
		s->n_handles++;
		return;
	}
	read_all(k);
	put(s, k);
	free_saving(k);
}

static bool save(struct session *s, bool is_newer)
{
	(void)uv_timer_stop(&s->idle);
	bool is_free = !s->saving && !s->restoring;
	if (!s->is_once && session_box(s) && s->is_shadow_due && is_free)
		start(s, is_newer);
	return !s->saving;
}

bool save_files_idle(struct session *s)
{
	return save(s, false);
}

bool save_files_before(struct session *s)
{
	struct workspace now;
	struct err err;
	bool is_shared =
		!s->is_once && (order_has_host_workspace(s->order) || s->processes.is_dirty);
	if (s->saving)
		return false;
	if (is_shared && !s->is_shared_seen &&
		workspace_scan(&now, s->box->workspace_fd, &err) == 0) {
		workspace_done(&s->before);
		s->before = now;
		s->is_shadow_due = true;
	}
	s->is_shared_seen = is_shared;
	s->processes.is_dirty = session_has_processes(s);
	return save(s, is_shared);
}
