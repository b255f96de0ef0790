/* A runtime's state made again, by its steps in a new driver. SPDX-License-Identifier: Apache-2.0
 */
#include "session/live.h"

#include "base/fd.h"
#include "session/rewind.h"

#include <signal.h>

void session_rebuild(struct session *s, const struct runtime *runtime)
{
	struct part *p = &s->parts[runtime_index(runtime)];
	transaction_idle(s);
	if (p->driver) {
		driver_signal(p->driver, SIGKILL);
		part_lose(p);
	}
	if (s->shadow)
		s->kept = shadow_hold(s->shadow);
}

static void on_kept(struct session *s, json_t *lost)
{
	struct err err;
	session_rebuilt_fn *rebuilt = take_ptr(s->rebuilt);
	json_decref(lost);
	workspace_done(&s->before);
	(void)workspace_scan(&s->before, s->box->workspace_fd, &err);
	s->is_shadow_due = true;
	rebuilt(s->rebuilt_arg);
}

void session_rebuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg)
{
	struct shadow *kept = take_ptr(s->kept);
	s->parts[runtime_index(runtime)].is_live = s->parts[runtime_index(runtime)].driver != NULL;
	if (!kept || !s->box) {
		shadow_let_go(kept);
		done(arg);
		return;
	}
	s->rebuilt = done;
	s->rebuilt_arg = arg;
	restore_files(s, kept, on_kept);
	shadow_let_go(kept);
}
