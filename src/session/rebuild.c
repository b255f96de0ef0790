/*
 * Rebuilds the state of one runtime by running its steps again in a new driver.
 *
 * The registry asks for this when a driver was lost and its runtime has no checkpoint. It calls
 * session_rebuild(), runs the runtime's steps from the journal in order, and calls
 * session_rebuilt().
 *
 * The steps change files that later steps, perhaps of other runtimes, have changed since. So the
 * files are saved before the rebuild and restored afterwards. Only the driver's memory keeps the
 * result of the steps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/inside.h"

#include "base/fd.h"
#include "session/box/lost_files.h"

#include <signal.h>
#include <stdio.h>

void session_spoil(struct session *s)
{
	s->is_lost = true;
}

void session_move_head(struct session *s, const char *step)
{
	snprintf(s->head, sizeof s->head, "%s", step);
}

static void end_driver(struct session *s, const struct runtime *runtime)
{
	struct session_driver *p = &s->drivers[runtime_index(runtime)];
	if (!p->driver)
		return;
	driver_signal(p->driver, SIGKILL);
	session_driver_lose(p);
}

void session_rebuild(struct session *s, const struct runtime *runtime)
{
	(void)save_files_idle(s);
	end_driver(s, runtime);
	if (save_files_newest(s))
		s->kept = shadow_hold(save_files_newest(s));
	s->is_rebuilding = true;
	s->is_scratch_kept = session_box(s) && !s->saving;
	s->rebuild_ns = lost_files_now_ns();
}

static void end_rebuilding(struct session *s)
{
	s->is_rebuilding = s->is_scratch_kept = false;
}

static void on_kept(struct session *s, json_t *lost)
{
	session_rebuilt_fn *rebuilt = take_ptr(s->rebuilt);
	deadline_stop(&s->back);
	end_rebuilding(s);
	rebuilt(s->rebuilt_arg, lost);
	json_decref(lost);
}

enum { BACK_MS = 30000 };

/* Give up the session's state, because init does not reply. */
static void on_late(uv_timer_t *timer)
{
	struct session *s = timer->data;
	session_rebuilt_fn *rebuilt = take_ptr(s->rebuilt);
	restore_cancel(s);
	session_spoil(s);
	end_rebuilding(s);
	/* The registry will find the session lost, and run all of its steps again in a new box. */
	rebuilt(s->rebuilt_arg, NULL);
}

static void put_back(struct session *s, session_rebuilt_fn *done, void *arg)
{
	struct shadow *kept = take_ptr(s->kept);
	if (!kept || !s->box) {
		json_t *lost = kept ? NULL : json_pack("[s]", ".");
		shadow_let_go(kept);
		end_rebuilding(s);
		done(arg, lost);
		json_decref(lost);
		return;
	}
	s->rebuilt = done;
	s->rebuilt_arg = arg;
	deadline_start(&s->back, on_late, BACK_MS);
	restore_files(s, kept, on_kept);
	shadow_let_go(kept);
}

void session_rebuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg)
{
	s->drivers[runtime_index(runtime)].is_live =
		s->drivers[runtime_index(runtime)].driver != NULL;
	put_back(s, done, arg);
}

void session_unbuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg)
{
	end_driver(s, runtime);
	put_back(s, done, arg);
}
