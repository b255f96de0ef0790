/*
 * Changes a file of a session for a client, between two steps.
 *
 * Init writes or removes the file, so that it belongs to the box's user. First the session must
 * have a box (session_get_box()), and its files must be saved (save_files_idle()). Both may take a
 * while; change_proceed() continues afterwards. Then change.c sends a request to init, and init's
 * reply is the caller's result. If a rollback begins meanwhile, it undoes the change and receives
 * init's replies, so the change fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/change.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"
#include "session/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct change {
	/* Request to init. Its path is NULL if the caller only waits for a box. */
	struct init_file file;
	char path[WIRE_PATH_BYTES];
	int fd;
	struct box *box; /* counted reference to the box whose init has the request, or NULL */
	session_changed_fn *done;
	void *arg;
};

/* CHANGE_MS: deadline for init's reply. BOX_MS: deadline for the box. It is longer than all
 * deadlines of making a box, so that those expire first. */
enum { CHANGE_MS = 10000, BOX_MS = 120000 };

/* Id of the request. It differs from all ids of restore.c, which begin at 0. */
static const uint64_t CHANGE_ID = UINT64_MAX;

int change_judge(int status, const char *path, struct err *err)
{
	enum err_code code = status == -ENOENT				     ? ERR_NOT_FOUND
		: status == -ENOSPC || status == -EDQUOT || status == -EFBIG ? ERR_NO_SPACE
									     : ERR_ACCESS;
	if (status >= 0)
		return 0;
	if (status == -ECANCELED)
		return err_fail(err, ERR_BUSY, "change it again",
			"change %s: the running step was rolled back, and this change with it",
			path);
	if (status == -EISDIR)
		return err_fail(err, ERR_ACCESS,
			"name a file in it, or remove it with everything in it: `recursive`",
			"change %s: it is a directory", path);
	int r = err_sys(err, code, -status, "change %s", path);
	if (status == -ENOTEMPTY)
		return err_hint(
			err, "it is very deep, or something writes to it: remove it in a step");
	return status == -ENOENT ? err_hint(err, "`file.list` lists them") : r;
}

void change_cancel(struct session *s)
{
	struct change *c = take_ptr(s->change);
	if (!c)
		return;
	deadline_stop(&s->wall);
	if (c->box) {
		c->box->filed = NULL;
		box_let_go(c->box);
	}
	fd_close(&c->fd);
	free(c);
}

static void finish(struct session *s, const struct err *err)
{
	session_changed_fn *done = s->change->done;
	void *arg = s->change->arg;
	change_cancel(s);
	done(arg, err);
}

static void on_filed(void *arg, uint64_t id, int status)
{
	struct session *s = arg;
	const struct change *c = s->change;
	struct err err;
	(void)id;
	int r = change_judge(status, c->path, &err);
	if (r == 0 && (c->box->is_over || c->box != session_box(s)))
		r = err_set(&err, ERR_GONE, "the session's box is gone");
	finish(s, r < 0 ? &err : NULL);
}

/* Give up the box, because it was not made in time or its init does not reply. */
static void on_late(uv_timer_t *timer)
{
	struct session *s = timer->data;
	struct err err;
	if (s->change->box)
		err_set(&err, ERR_GONE, "the box did not answer within %d s", CHANGE_MS / 1000);
	else
		err_set(&err, ERR_GONE, "the session had no box after %d s", BOX_MS / 1000);
	session_spoil(s);
	finish(s, &err);
}

static int ask_init(struct session *s, struct err *err)
{
	struct change *c = s->change;
	struct box *box = session_box(s);
	if (box->filed)
		return err_fail(err, ERR_BUSY, "ask again in a moment",
			"another change of a file is under way");
	/* If files are being saved, wait: change_proceed() is called again afterwards. */
	if (!save_files_idle(s))
		return 0;
	session_touch(s);
	int r = box_file(box, &c->file);
	if (r < 0)
		return err_sys(err, ERR_GONE, -r, "ask the session's box");
	deadline_start(&s->wall, on_late, CHANGE_MS);
	c->box = box_hold(box);
	box->filed = on_filed;
	box->filed_arg = s;
	return 0;
}

/* Send the pending change to init, if a box exists. If there will be no box, @why tells the
 * reason, and the change fails. */
void change_proceed(struct session *s, const char *why)
{
	struct err err;
	if (!s->change || s->change->box || (!why && !session_box(s)))
		return;
	int r = why		       ? err_set(&err, ERR_GONE, "%s", why)
		: s->change->file.path ? ask_init(s, &err)
				       : networking_await(s, &err);
	if (r == 1)
		return;
	if (r < 0)
		finish(s, &err);
	else if (!s->change->file.path)
		finish(s, NULL);
}

static struct change *new_change(
	struct session *s, session_changed_fn *done, void *arg, struct err *err)
{
	if (s->state != SESSION_OPEN || s->step_state != STEP_NONE || s->restoring || s->change) {
		err_set(err, ERR_GONE, "the session is not open and idle");
		return NULL;
	}
	struct change *c = xnew(struct change);
	c->fd = -1;
	c->done = done;
	c->arg = arg;
	s->change = c;
	deadline_start(&s->wall, on_late, BOX_MS);
	return c;
}

int session_await_box(struct session *s, session_changed_fn *done, void *arg, struct err *err)
{
	if (session_box(s) && networking_is_settled(s)) {
		done(arg, NULL);
		return 0;
	}
	if (!new_change(s, done, arg, err))
		return -EINVAL;
	int r = session_get_box(s, err);
	if (r < 0)
		change_cancel(s);
	return r;
}

int session_change(struct session *s, const struct init_file *file, session_changed_fn *done,
	void *arg, struct err *err)
{
	struct change *c = new_change(s, done, arg, err);
	if (!c)
		return -EINVAL;
	c->file = *file;
	snprintf(c->path, sizeof c->path, "%s", file->path);
	c->fd = file->fd < 0 ? -1 : fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	c->file.id = CHANGE_ID;
	c->file.path = c->path;
	c->file.target = "";
	c->file.fd = c->fd;
	int r = file->fd >= 0 && c->fd < 0 ? err_sys(err, ERR_IO, errno, "hold the file's content")
		: session_box(s)	   ? ask_init(s, err)
					   : session_get_box(s, err);
	if (r < 0)
		change_cancel(s);
	return r;
}

static bool look(struct session *s)
{
	struct err err;
	struct workspace now;
	if (!session_box(s) || workspace_scan(&now, s->box->workspace_fd, &err) < 0)
		return false;
	workspace_done(&s->before);
	s->before = now;
	s->is_shadow_due = true;
	save_files_is_behind(s);
	timer_start(&s->idle, session_on_idle, 0, 0);
	return true;
}

void session_changed(struct session *s, const char *step)
{
	(void)look(s);
	session_move_head(s, step);
	save_state_changed(s);
}

void session_files_changed(struct session *s)
{
	/* If a step is running, its record will list the change. */
	if (!session_is_idle(s) || !look(s))
		return;
	for (unsigned i = 0; i < s->points.n; i++)
		if (strcmp(s->points.v[i]->step, s->head) == 0)
			shadow_let_go(take_ptr(s->points.v[i]->files));
}
