/*
 * Runs that wait behind a run that waits for input.
 *
 * The steps of a session run one at a time. If a step waits for input, which a client may never
 * give, the steps behind it may never begin. So the callers of those steps get an event "queued",
 * which names the run that waits for input. Operations that cannot send events, such as
 * `session.branch`, are refused with ERR_BUSY, and a hint says how to end the wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/run/run_behind.h"

#include "api/run/inside.h"
#include "registry/registry.h"

bool run_is_reading(const struct run *run)
{
	return run->is_reading && !run->is_done;
}

const struct run *run_reader(const struct run *run)
{
	const struct run *ahead = run_ahead(run);
	return ahead && run_is_reading(ahead) ? ahead : NULL;
}

static int refuse(const struct run *run, struct err *err)
{
	(void)err_set(err, ERR_BUSY, "run %s of the session waits for input", run->id);
	return err_hint(err,
		"give it a line with `step.input %s`, or end it with `step.interrupt %s`", run->id,
		run->id);
}

void run_tell_behind(struct run *run)
{
	struct err err;
	(void)refuse(run, &err);
	registry_refuse_waiting(run->registry, run->session, &err);
	for (struct run *r = run->is_listed ? run->next : NULL, *next; r; r = next) {
		run_hold(r); /* a callback may end any of these runs */
		if (run_reader(r) == run) {
			run_tell(r, event_queued(r->id, run->id, true));
			waiters_wake(r);
		}
		next = r->is_listed ? r->next : NULL;
		run_release(r);
	}
}

int runs_check_reading(
	struct runs *r, struct registry *registry, const char *session, struct err *err)
{
	struct err none;
	const struct run *run =
		runs_find_step(r, registry, session, "", &none); /* the newest run */
	for (; run; run = run->prev)
		if (run_is_reading(run))
			return refuse(run, err);
	return 0;
}
