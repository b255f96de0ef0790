/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/processes.h"

#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/session_table.h"

/* Call @done when the session of @e has a box; at once if @is_ready or @err says why not. */
static void await(
	struct entry *e, bool is_ready, const struct err *err, registry_done_fn *done, void *arg)
{
	if (!err->code && !is_ready) {
		entry_add_job(e, job_new(JOB_BOX, NULL, 0, done, arg));
		return;
	}
	json_t *out = err->code ? NULL : json_object();
	done(arg, out, err->code ? err : NULL);
	json_decref(out);
}

void registry_await_process(
	struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct entry *e = registry_find(r, session, &err);
	if (e)
		(void)admit_rate(r, 1, &err);
	await(e, e && e->session && session_may_start(e->session), &err, done, arg);
}

void registry_await_opened(
	struct registry *r, const char *session, registry_done_fn *done, void *arg)
{
	struct err err = {0};
	struct entry *e = registry_find(r, session, &err);
	await(e, e && e->session, &err, done, arg);
}

struct session *registry_process_session(
	struct registry *r, const char *session, const char **id, struct err *err)
{
	const struct entry *e = registry_find(r, session, err);
	if (e && !e->session)
		err_fail(err, ERR_BUSY, "ask again in a moment", "the session is being opened");
	if (e)
		*id = e->id;
	return e ? e->session : NULL;
}

struct process *registry_process(
	struct registry *r, const char *session, const char *process, struct err *err)
{
	const char *id;
	struct session *s = registry_process_session(r, session, &id, err);
	return s ? session_find_process(s, process, err) : NULL;
}
