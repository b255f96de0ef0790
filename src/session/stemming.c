/*
 * Makes a stem that has the session's state, from which others branch.
 *
 * A stem is a driver that runs no more code, alone in its box. First the session waits until no
 * guard is being made. Then it checks that the program has no threads and that the session's files
 * can be copied. Then init ends all processes of the box but the Python driver, which becomes the
 * stem. Unless the caller wants that (OTHERS_END), init refuses if the program has processes of its
 * own, that is, other than drivers and guards.
 *
 * The session itself continues as a branch of the stem. It gives up its box, and gets another one
 * when the engine has time or a step needs it.
 *
 * If init has refused and the caller wants the processes to go on (OTHERS_KEEP), or if all of them
 * were started by clients, the session stays in its box with them, and lends its driver. One branch
 * of the driver is made, in which no code runs, and its driver becomes the stem. Meanwhile the
 * session is not idle, so nothing else is asked of the driver. Each such request makes a stem of
 * its own, because the processes may have changed files since the last one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/timer.h"
#include "session/inside.h"

#include "session/box/lost_files.h"

#include <signal.h>
#include <string.h>
#include <sys/statvfs.h>

/* CONTINUE_MS: delay before the session gets its own next box, so that branches for which a
 * caller waits are made first. */
enum {
	CONTINUE_MS = 2,
	GUARD_MS = 10000, /* time limit for a guard that is being made */
	CLEAR_MS = 10000, /* time limit for ending the processes of the box */
};

static void tell(struct session *s, struct stem *stem, const struct err *err)
{
	session_stem_fn *stemmed = take_ptr(s->stemmed);
	deadline_stop(&s->wall);
	session_set_urgent(s, false);
	if (stemmed)
		stemmed(s->stemmed_arg, stem, err);
}

static void tell_stem(struct session *s, const struct err *err)
{
	tell(s, err ? NULL : s->stem, err);
}

void session_end_loan(struct session *s)
{
	if (s->lent)
		branching_forget(take_ptr(s->lent));
	if (s->loan)
		stem_give_back(take_ptr(s->loan));
}

/* Tell the caller of session_make_stem() that the driver has died. */
void session_no_stem(struct session *s, const struct err *err)
{
	struct err why = *err;
	/* The program's at-fork hooks run in guards and stems, and may have ended the driver. */
	if (!why.hint[0])
		err_hint(&why, STEM_DEATH_HINT);
	session_end_loan(s);
	tell_stem(s, &why);
}

bool session_revive_lender(struct session_driver *p, const struct err *err)
{
	struct session *s = p->session;
	struct err why = *err;
	if (!s->loan || p->runtime->carry != CARRY_MEMORY)
		return false;
	session_end_loan(s);
	if (s->branching || !s->box || s->box->is_over || !transaction_revive(p))
		return false;
	err_hint(&why, "branch the session again: it has its state");
	tell_stem(s, &why);
	return true;
}

static int fail_depth(const struct session *s, struct err *err)
{
	return err_fail(err, ERR_LIMIT, "branch one that is less deep, or make a new session",
		"the session is %u branches of branches deep", (unsigned)s->box->depth);
}

/* Refuse to make a stem, because the program has @n processes of its own. */
static void refuse(struct session *s, int n)
{
	struct err err;
	struct driver *d = python_driver(s)->driver;
	/* The driver may have been told by driver_be_stem() to prepare to be a stem. But no stem
	 * is made, so the driver will run further steps, and its next step undoes the
	 * preparation. Clear is_stem, so that driver_be_stem() can tell the driver again to
	 * prepare. */
	if (d)
		d->is_stem = false;
	err_fail(&err, ERR_BUSY,
		"end them first, or ask with `force` (ends them) or `keep_processes` (they go on, "
		"and have power over the branch)",
		"the session has %d process%s of its own, which a branch cannot copy", n,
		n == 1 ? "" : "es");
	tell_stem(s, &err);
}

static void on_lent(void *arg, struct driver *d, const struct err *err)
{
	struct session *s = arg;
	s->lent = NULL;
	struct stem *stem = d ? stem_of_loan(d, s->n_others) : NULL;
	session_end_loan(s);
	/* What the session would do when idle was put off. */
	timer_start(&s->idle, session_on_idle, CONTINUE_MS, 0);
	tell(s, stem, err);
	if (stem)
		stem_let_go(stem);
}

/* Lend the driver for one branch, because the program has @n processes, which go on. */
static void lend(struct session *s, int n)
{
	struct err err;
	const struct order_checked *o = s->order;
	struct driver *d = python_driver(s)->driver;
	const struct branch_order order = {.limits = s->limits,
		.binds = order_branch_binds(o),
		.n_binds = order_n_branch_binds(o),
		.is_continuation = true};
	deadline_stop(&s->wall);
	/* The branch becomes the stem, so the sessions that branch from it are one level deeper. */
	if (s->box->depth + 1 >= WIRE_DEPTH_MAX) {
		(void)fail_depth(s, &err);
		tell_stem(s, &err);
		return;
	}
	d->is_stem = false; /* see refuse() */
	s->n_others = (unsigned)n;
	s->loan = stem_borrow(d);
	s->lent = stem_branch(s->loan, &order, on_lent, s);
	if (s->lent)
		return;
	err_set(&err, ERR_GONE, "the driver to be branched has died");
	session_no_stem(s, &err);
}

/*
 * Handle init's reply to box_clear():
 *
 * - @n is 0: init has ended the processes of the box.
 * - @n is positive: init has refused, because the program has @n processes of its own.
 * - @n is negative: some processes did not end, or the box has ended.
 */
static void on_cleared(void *arg, int n)
{
	struct session *s = arg;
	struct err err;
	/* @stemmed is NULL if the driver has died meanwhile and session_no_stem() has told the
	 * caller. A new driver may have been started since, but it must not become the stem. So
	 * do nothing. */
	if (!s->stemmed)
		return;
	if (n > 0 && s->others == OTHERS_KEEP && python_driver(s)->driver) {
		lend(s, n);
		return;
	}
	if (n > 0) {
		refuse(s, n);
		return;
	}
	struct driver *d = take_ptr(python_driver(s)->driver);
	bool is_dead = n < 0 || !d || d->is_over;
	session_driver_lose(python_driver(s));
	s->stem = is_dead ? NULL : stem_new(d);
	if (!s->stem) {
		if (d)
			driver_let_go(d);
		s->is_lost = true;
		err_set(&err, ERR_GONE, "the driver to be branched has died");
		tell_stem(s, &err);
		return;
	}
	session_drivers_lose(s);
	save_files_idle(s);
	checkpoints_cut(&s->points, 0);
	session_let_go_box(s);
	s->idle_ns = uv_hrtime();
	if (!s->is_template)
		timer_start(&s->idle, session_on_idle, CONTINUE_MS, 0);
	tell_stem(s, NULL);
}

size_t session_list_known(const struct session *s, int32_t pids[SESSION_KNOWN_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		if (s->drivers[i].arm_pid > 0)
			pids[n++] = s->drivers[i].arm_pid;
	const struct guard *last = NULL;
	for (unsigned i = 0; i < s->points.n; i++) {
		const struct guard *g = s->points.v[i]->guard;
		if (g && g != last && g->box == s->box && g->fd >= 0)
			pids[n++] = g->pid;
		last = g;
	}
	return n;
}

/*
 * Return whether the program has no processes of its own in the box. The box then has only init,
 * the drivers and the @n_known processes that session_list_known() lists.
 * In this case init will not refuse to clear the box. So the driver can prepare to be a stem while
 * init clears the box.
 */
static bool is_tidy(struct session *s, size_t n_known)
{
	uint64_t n = 1 + n_known;
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		n += s->drivers[i].driver != NULL;
	return box_has_just(s->box, n);
}

static void clear_box(struct session *s)
{
	int32_t pids[SESSION_KNOWN_MAX];
	static const enum init_clearing how[] = {[OTHERS_REFUSE] = CLEAR_PATIENT,
		[OTHERS_END] = CLEAR_ALL,
		[OTHERS_KEEP] = CLEAR_QUICK};
	bool is_forced = s->others == OTHERS_END;
	size_t n = is_forced ? 0 : session_list_known(s, pids);
	if (!is_forced && is_tidy(s, n))
		driver_be_stem(python_driver(s)->driver);
	box_clear(s->box, python_driver(s)->driver, pids, n, how[s->others], on_cleared, s);
}

/* Check that the session's files can be copied. The session itself continues as a branch, so if
 * copying failed later, its state would be lost. */
static int check_copy(struct session *s, struct err *err)
{
	const struct workspace *all[1 + RESTORE_SCRATCH];
	struct workspace_size size;
	struct statvfs st;
	uint64_t again_bytes = 0;
	size_t n = 0;
	/* Save the files, so that the list of the workspace's files and the lists in @scratch
	 * are up to date. They are checked below. */
	save_files_idle(s);
	if (!order_has_host_workspace(s->order))
		all[n++] = session_files(s);
	for (size_t i = 0; i < RESTORE_SCRATCH; i++)
		all[n++] = &s->scratch[i];
	for (size_t i = 0; i < n; i++) {
		int r = workspace_measure(all[i], &size, err);
		if (r < 0)
			return r;
		again_bytes += size.again_bytes;
		if (size.n_dirs <= WIRE_DIRS_MAX)
			continue;
		return err_fail(err, ERR_LIMIT, "remove such a tree, then branch",
			"the session's files are more than %d directories deep", WIRE_DIRS_MAX);
	}
	if (again_bytes == 0 || fstatvfs(s->box->workspace_fd, &st) < 0 ||
		again_bytes <= (uint64_t)st.f_bavail * st.f_frsize)
		return 0;
	return err_fail(err, ERR_NO_SPACE,
		"remove some, or make the session with a larger limit of disk",
		"the session's hard links become separate files in a branch, and there is no room "
		"for these");
}

static int check_stem(struct session *s, struct err *err)
{
	struct session_driver *p;
	if (!session_is_idle(s) || s->stemmed || s->branching)
		return err_fail(err, ERR_BUSY, "wait for its result, or interrupt it",
			"a step of the session is running");
	if (s->is_spent)
		return session_refuse_spent(err);
	if (!session_box(s))
		return err_set(err, ERR_GONE, "the session has no box");
	/* When the stem is made, the session continues in a new branch of it. The box of this
	 * branch will be one level deeper than the present box. So refuse if the present box is
	 * at the greatest depth already. */
	if (s->box->depth >= WIRE_DEPTH_MAX)
		return fail_depth(s, err);
	int r = check_copy(s, err);
	if (r < 0)
		return r;
	/* Only Python drivers are branched, whatever the session's own runtime is. */
	return session_driver_start(s, runtime_by_name("python"), &p, err);
}

static void on_guard_late(uv_timer_t *timer)
{
	struct err err;
	err_set(&err, ERR_GONE, "the driver made no checkpoint within %d s", GUARD_MS / 1000);
	tell_stem(timer->data, &err);
}

void session_touch(struct session *s)
{
	if (s->base)
		stem_let_go(take_ptr(s->base));
}

struct stem *session_stem(const struct session *s)
{
	struct stem *stem = s->stem ? s->stem : s->base;
	return stem && session_is_idle(s) && !stem_is_dead(stem) ? stem : NULL;
}

void session_make_stem(
	struct session *s, enum session_others others, session_stem_fn *done, void *arg)
{
	struct err err;
	struct stem *stem = session_stem(s);
	if (stem) {
		done(arg, stem, NULL);
		return;
	}
	if (check_stem(s, &err) < 0) {
		done(arg, NULL, &err);
		return;
	}
	s->stemmed = done;
	s->stemmed_arg = arg;
	s->others = others;
	s->is_count_due = true;
	session_set_urgent(s, true);
	save_state_done(s);
	deadline_start(&s->wall, on_guard_late, GUARD_MS);
	/*
	 * If the driver could not be branched when its last step ended, for example because of
	 * threads, have it make another guard: its response tells whether it can be branched now.
	 */
	struct session_driver *p = python_driver(s);
	if (!p->due_id && p->barred[0])
		(void)session_driver_setup(p, SETUP_GUARD, &err);
	/* session_count() continues with clearing the box. But init refuses to clear a box in
	 * which the program has processes of its own. While a guard is being made, init would
	 * take its process for one of these. So session_count() does nothing as long as a guard
	 * is being made. When the guard is made, save_state_guard() calls session_count() again. */
	session_count(s);
}

/* Give up the box, because its init does not reply. */
static void on_clear_late(uv_timer_t *timer)
{
	struct session *s = timer->data;
	struct err err;
	err_set(&err, ERR_GONE, "the box was not cleared within %d s", CLEAR_MS / 1000);
	if (s->box)
		s->box->cleared = NULL;
	session_spoil(s);
	tell_stem(s, &err);
}

/* Return whether the driver will still tell the process id of its interpreter, which it does
 * before its response to SETUP. */
static bool is_arm_due(const struct session_driver *p)
{
	return p->setup_id && p->runtime->carry != CARRY_MEMORY;
}

/* Continue session_make_stem(), unless a guard is still being made. */
void session_count(struct session *s)
{
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		if (s->drivers[i].due_id || is_arm_due(&s->drivers[i]))
			return;
	if (!s->is_count_due)
		return;
	s->is_count_due = false;
	deadline_stop(&s->wall);
	if (!s->stemmed || !s->box || s->box->cleared)
		return;
	const char *barred = python_driver(s)->barred;
	if (!barred[0]) {
		deadline_start(&s->wall, on_clear_late, CLEAR_MS);
		clear_box(s);
		return;
	}
	err_fail(&err, ERR_BUSY,
		strstr(barred, "threads")
			? "end them in a step, or wait until they have ended, then branch"
			: "undo it in a step, or with `session.undo`, then branch",
		"the session cannot be branched: %s", barred);
	tell_stem(s, &err);
}
