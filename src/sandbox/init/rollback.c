/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/init/rollback.h"

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/proc_list.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* MOVING_ROUNDS: in how many rounds processes may be started before everything is stopped. */
enum { MOVING_ROUNDS = 3 };
/* How often hold_all() looks whether all stand still. */
enum { HOLD_LOOKS_MIN = 3, HOLD_LOOKS_MAX = 100 };
enum { CLEAR_ROUNDS_MAX = 1000, COUNT_ROUNDS_MAX = 50, PAUSE_NS = 200000, STILL_MS = 20 };

struct member {
	struct proc_entry entry;
	bool is_killed;
};

struct members {
	struct member v[ROLLBACK_MAX];
	size_t n;
	bool is_full;
	bool has_nested;     /* there are also processes in nested pid namespaces */
	bool is_all_stopped; /* hold_all() has stopped everything, also in nested pid namespaces */
	struct proc_reading now, last; /* `last`: of the same series; see is_deserted() */
};

static void nap(void)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	(void)nanosleep(&pause, NULL);
}

static bool add_member(void *arg, const struct proc_entry *entry)
{
	struct members *all = arg;
	if (entry->is_nested) {
		all->has_nested = true;
		return true;
	}
	if (all->n == ROLLBACK_MAX) {
		all->is_full = true;
		return false;
	}
	all->v[all->n++] = (struct member){.entry = *entry};
	return true;
}

/* Return whether processes were started while /proc was read, so that some may be missing. A
 * process that forks and exits all the time can be missed again and again. */
static bool is_moving(const struct members *all)
{
	return all->now.before != all->now.after;
}

static int read_members(struct members *all, struct err *err)
{
	struct moment before, after;
	all->n = 0;
	all->is_full = all->has_nested = false;
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	moment_set(&before);
	int r = proc < 0 ? -errno : proc_list(proc, add_member, all);
	moment_set(&after);
	all->now.before = before.pid;
	all->now.after = after.pid;
	all->now.has_ended = r > 0;
	if (r < 0)
		return err_sys(err, ERR_BOX, -r, "read /proc");
	if (all->is_full)
		return err_set(err, ERR_LIMIT, "more than %d processes in the box", ROLLBACK_MAX);
	return 0;
}

/* Return whether it is certain that nobody is left of those that the caller looks for. The last
 * reading found @n of them. Call this after each reading of a series; forget() begins a series. */
static bool is_deserted(struct members *all, int n)
{
	struct proc_reading last = all->last;
	all->now.n = n;
	all->last = all->now;
	return proc_is_deserted(&all->now, &last);
}

static void forget(struct members *all)
{
	all->last = (struct proc_reading){.n = 1};
}

static int count_running(const struct members *all)
{
	int n = 0;
	for (size_t i = 0; i < all->n; i++)
		n += !all->v[i].entry.is_over && !strchr("TtZX", all->v[i].entry.state);
	return n;
}

/*
 * Stop everything with one call, which no process can evade by forking: a fork that is under way
 * begins again after the signal. This stops the processes of branches, too, for a moment. So it is
 * done only if somebody forks faster than /proc can be read. let_go_all() ends it.
 */
static int hold_all(struct members *all, struct err *err)
{
	int r = 0;
	(void)kill(-1, SIGSTOP);
	all->is_all_stopped = true;
	for (int look = 0; r == 0 && look < HOLD_LOOKS_MAX; look++) {
		nap();
		r = read_members(all, err);
		if (look >= HOLD_LOOKS_MIN && count_running(all) == 0)
			break;
	}
	return r;
}

static void let_go_all(struct members *all)
{
	if (all->is_all_stopped)
		(void)kill(-1, SIGCONT);
	all->is_all_stopped = false;
}

static struct member *find(struct members *all, pid_t pid)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].entry.pid == pid)
			return &all->v[i];
	return NULL;
}

static bool contains(const pid_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Return the one of the @n @minders that is @m or from which @m descends, or 0. */
static pid_t minder_of(struct members *all, const struct member *m, const pid_t *minders, size_t n)
{
	for (size_t depth = 0; n > 0 && m && depth <= all->n; depth++) {
		if (contains(minders, n, m->entry.pid))
			return m->entry.pid;
		m = find(all, m->entry.ppid);
	}
	return 0;
}

/*
 * Return whether the process @m survives. Look at @m, its parent, its grandparent, and so on. The
 * first of them that is one of these processes decides:
 * - The guard, or the minder of a program that a client started: @m survives.
 * - A driver to kill, which is back->driver or one of back->others: @m is killed.
 * - A process that is not newer than the moment @mark: @m survives.
 * If none of them is such a process, @m is killed.
 */
static bool is_kept(struct members *all, const struct rollback *back, const struct member *m,
	const struct moment *mark)
{
	for (size_t depth = 0; m && depth <= all->n; depth++) {
		if (m->entry.pid == back->guard ||
			contains(back->minders, back->n_minders, m->entry.pid))
			return true;
		if (m->entry.pid == back->driver ||
			contains(back->others, back->n_others, m->entry.pid))
			return false;
		if (!moment_is_newer(m->entry.start_ticks, m->entry.pid, mark))
			return true;
		/* init is not in @all, so the loop ends when it comes to init */
		m = find(all, m->entry.ppid);
	}
	return false;
}

static int fail_guard(struct err *err)
{
	return err_set(err, ERR_GONE, "the checkpoint's process has been killed");
}

int rollback_check(const struct rollback *back, struct err *err)
{
	struct proc_entry guard = {0};
	if (!back->guard)
		return 0;
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = proc < 0 ? -errno : proc_entry_read(&guard, proc, back->guard);
	if (r < 0 || guard.ppid != getpid() || guard.state == 'Z' || back->guard == back->driver)
		return fail_guard(err);
	return 0;
}

static int mark(struct members *all, const struct rollback *back, struct err *err)
{
	const struct member *guard = back->guard ? find(all, back->guard) : NULL;
	struct moment mark = back->mark ? *back->mark : (struct moment){0};
	int n = 0;
	if (!guard && back->guard)
		return fail_guard(err);
	if (guard && !back->mark)
		mark = (struct moment){guard->entry.start_ticks, guard->entry.pid};
	for (size_t i = 0; i < all->n; i++) {
		struct member *m = &all->v[i];
		m->is_killed = !is_kept(all, back, m, &mark);
		n += m->is_killed;
	}
	return n;
}

static void reap(struct members *all, const struct rollback *back)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		const struct member *m = find(all, pid);
		if (!m || !m->is_killed)
			back->reaped(back->arg, pid, status);
	}
}

static bool are_gone(const struct members *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].is_killed && kill(all->v[i].entry.pid, 0) == 0)
			return false;
	return true;
}

static int await_end(struct members *all, const struct rollback *back, struct err *err)
{
	for (int64_t ns = 0; ns < (int64_t)ROLLBACK_MS * 1000000; ns += PAUSE_NS) {
		reap(all, back);
		if (are_gone(all))
			return 0;
		nap();
	}
	return err_set(
		err, ERR_BOX, "killed processes did not end within %d s", ROLLBACK_MS / 1000);
}

static void signal_all(const struct members *all, int signal)
{
	bool is_one_by_one = all->has_nested && !all->is_all_stopped;
	if (!is_one_by_one)
		(void)kill(-1, signal);
	for (size_t i = 0; is_one_by_one && i < all->n; i++)
		(void)kill(all->v[i].entry.pid, signal);
}

/* Stop all processes, and read /proc until they stand still, for at most STILL_MS. If they are
 * stopped one by one, and it is not certain that all have been found, use hold_all(). */
static int stop_all(struct members *all, struct err *err)
{
	int64_t end_ms = clock_now_ms() + STILL_MS;
	bool is_done = false;
	int n = 0, r = read_members(all, err);
	if (r < 0)
		return r;
	signal_all(all, SIGSTOP);
	for (r = read_members(all, err); r == 0; r = read_members(all, err)) {
		n = count_running(all);
		is_done = all->has_nested ? is_deserted(all, n) : n == 0;
		if (is_done || clock_now_ms() >= end_ms)
			break;
		if (all->has_nested)
			signal_all(all, SIGSTOP); /* some may have been forked meanwhile */
		nap();
	}
	return r == 0 && all->has_nested && !is_done && (n == 0 || is_moving(all))
		? hold_all(all, err)
		: r;
}

/*
 * Kill the processes that do not survive. Continue the survivors first: if a process group becomes
 * orphaned while one of its members is stopped, the kernel sends it SIGHUP. Source: setpgid(2).
 * Returns: how many were killed, or negative errno.
 */
static int kill_marked(struct members *all, const struct rollback *back, struct err *err)
{
	int n = mark(all, back, err);
	for (size_t i = 0; n > 0 && i < all->n; i++)
		if (!all->v[i].is_killed)
			(void)kill(all->v[i].entry.pid, SIGCONT);
	for (size_t i = 0; n > 0 && i < all->n; i++)
		if (all->v[i].is_killed)
			(void)kill(all->v[i].entry.pid, SIGKILL);
	return n;
}

static bool is_any_left(const struct members *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].is_killed && !all->v[i].entry.is_over)
			return true;
	return false;
}

/* Kill again until all processes to kill are ending. This is for the case that the processes were
 * stopped one by one: some of them may have gone on forking. */
static int kill_rest(struct members *all, const struct rollback *back, struct err *err)
{
	int n = 1;
	for (int round = 0; n > 0 && is_any_left(all) && round < CLEAR_ROUNDS_MAX; round++) {
		nap();
		reap(all, back);
		int r = read_members(all, err);
		n = r < 0 ? r : kill_marked(all, back, err);
	}
	return n;
}

/*
 * Kill the processes that must not survive, in two rounds.
 * The second round is needed because a process may be stopped in the middle of a fork. The fork
 * still completes, so the child may appear only after the first round has read /proc.
 * A third round is not needed. If the child must not survive, the first round has killed the
 * child's parent, and a killed parent cannot fork again. So the second round finds the last child.
 * Source: copy_process() of Linux, since 4.19.
 */
int rollback(const struct rollback *back, struct err *err)
{
	static struct members all;
	all.is_all_stopped = false;
	forget(&all);
	int n = stop_all(&all, err);
	if (n == 0)
		n = kill_marked(&all, back, err);
	if (n > 0) {
		int r = read_members(&all, err);
		n = r < 0 ? r : kill_marked(&all, back, err);
	}
	int r = n > 0 && all.has_nested ? kill_rest(&all, back, err) : 0;
	signal_all(&all, SIGCONT);
	all.is_all_stopped = false;
	if (n <= 0 || r < 0)
		return n <= 0 ? n : r;
	r = await_end(&all, back, err);
	return r < 0 ? r : n;
}

static bool is_guard(const struct rollback_clearing *c, pid_t pid)
{
	return contains(c->guards, c->n_guards, pid);
}

static bool is_known(const struct rollback_clearing *c, pid_t pid)
{
	return contains(c->drivers, c->n_drivers, pid) || pid == c->driver || is_guard(c, pid);
}

static bool is_unknown(const struct rollback_clearing *c, const struct proc_entry *entry)
{
	return !entry->is_over && !is_known(c, entry->pid) &&
		!contains(c->minders, c->n_minders, entry->pid);
}

static int count_once(const struct members *all, const struct rollback_clearing *c)
{
	int n = 0;
	for (size_t i = 0; i < all->n; i++)
		n += is_unknown(c, &all->v[i].entry);
	return n;
}

/* Pause before another round. Nothing is reaped while everything is stopped, since reaping
 * continues a minder that is stopped. */
static void pause_clearing(const struct members *all, const struct rollback_clearing *c)
{
	nap();
	if (!all->is_all_stopped)
		c->reap(c->arg);
}

/* Count the processes that are neither drivers nor guards. A process that is ending stays
 * visible for a moment, so count again until there are none, up to COUNT_ROUNDS_MAX times; if the
 * caller is in a hurry, only until one is found. */
static int count_unknown(struct members *all, const struct rollback_clearing *c)
{
	struct err err;
	bool is_sure = false;
	int n = 0, r = 0;
	for (int round = 0; r == 0 && round < COUNT_ROUNDS_MAX; round++) {
		if (round > 0)
			pause_clearing(all, c);
		r = read_members(all, &err);
		n = r < 0 ? 0 : count_once(all, c);
		is_sure = r == 0 && is_deserted(all, n);
		if (is_sure || (n == 0 ? round >= MOVING_ROUNDS : c->is_quick))
			break;
	}
	if (r == 0 && n == 0 && !is_sure) {
		r = hold_all(all, &err);
		n = r < 0 ? 0 : count_once(all, c);
		let_go_all(all);
	}
	return r == 0 ? n : all->is_full ? ROLLBACK_MAX : -EBUSY;
}

/*
 * Stop the guards and kill the other processes, except those that @c spares. Do not wait for a
 * guard to stop: the init of a box around this one may continue it at once, since that init stops
 * and continues everything in its box. The next round looks at the guards again.
 * Returns: how many processes were found that could still run.
 */
static int quieten(struct members *all, const struct rollback_clearing *c)
{
	int n = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct proc_entry *entry = &all->v[i].entry;
		bool may_stop = is_guard(c, entry->pid);
		if (entry->is_over || entry->pid == c->driver ||
			(may_stop && entry->state == 'T') ||
			(c->is_sweep && is_known(c, entry->pid)) ||
			(c->spares_programs &&
				minder_of(all, &all->v[i], c->minders, c->n_minders)))
			continue;
		(void)kill(entry->pid, may_stop ? SIGSTOP : SIGKILL);
		n++;
	}
	return n;
}

/* Send SIGSTOP to the guards that do not stand still. Returns: whether all did. */
static bool are_guards_still(struct members *all, const struct rollback_clearing *c)
{
	bool are_all = true;
	for (size_t i = 0; i < all->n; i++) {
		const struct proc_entry *entry = &all->v[i].entry;
		if (entry->is_over || entry->state == 'T' || !is_guard(c, entry->pid))
			continue;
		(void)kill(entry->pid, SIGSTOP);
		are_all = false;
	}
	return are_all;
}

/* Continue the processes that hold_all() has stopped, except the guards. */
static void let_go_survivors(struct members *all, const struct rollback_clearing *c)
{
	struct err err;
	bool was_held = all->is_all_stopped;
	let_go_all(all);
	for (int look = 0; was_held && !c->is_sweep && look < HOLD_LOOKS_MAX; look++) {
		if (read_members(all, &err) < 0 || are_guards_still(all, c))
			break;
		nap();
	}
}

/* Kill or stop the processes in rounds, until a round finds none that can still run: a process
 * may have forked just before it was killed. */
int rollback_clear(const struct rollback_clearing *c)
{
	static struct members all;
	struct err err;
	all.is_all_stopped = false;
	forget(&all);
	int n = c->is_forced ? 0 : count_unknown(&all, c), result = -EBUSY;
	if (n != 0)
		return n;
	if (!c->is_forced) /* count_unknown() has just listed the processes in @all */
		(void)quieten(&all, c);
	forget(&all);
	for (int round = 0; result == -EBUSY && round < CLEAR_ROUNDS_MAX; round++) {
		int r = read_members(&all, &err);
		if (r == 0 && is_moving(&all) && !all.is_all_stopped && round >= MOVING_ROUNDS)
			r = hold_all(&all, &err);
		if (r < 0 && !all.is_full)
			break;
		n = quieten(&all, c);
		if (is_deserted(&all, n)) {
			result = 0;
			break;
		}
		/* Do not pause after the first round: most killed processes end during the
		 * second. */
		if (round > 0 && n > 0)
			pause_clearing(&all, c);
	}
	let_go_survivors(&all, c);
	return result;
}

/* Send @signal to all descendants of @minder that are listed and can still run. Returns: how many.
 */
static int signal_descendants(struct members *all, pid_t minder, int signal)
{
	int n = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct proc_entry *entry = &all->v[i].entry;
		if (entry->pid == minder || entry->is_over || entry->state == 'Z' ||
			!minder_of(all, &all->v[i], &minder, 1))
			continue;
		(void)kill(entry->pid, signal);
		n++;
	}
	return n;
}

void rollback_signal_program(pid_t minder, int signal)
{
	static struct members all;
	struct err err;
	all.is_all_stopped = false;
	forget(&all);
	for (int round = 0; round < CLEAR_ROUNDS_MAX; round++) {
		int r = read_members(&all, &err);
		if (r == 0 && is_moving(&all) && !all.is_all_stopped && round >= MOVING_ROUNDS)
			r = hold_all(&all, &err);
		if (r < 0 && !all.is_full)
			break;
		if (signal != SIGKILL ||
			is_deserted(&all, signal_descendants(&all, minder, signal)))
			break;
		nap();
	}
	if (signal != SIGKILL)
		(void)signal_descendants(&all, minder, signal);
	let_go_all(&all);
}

/* As ps does, show the name in brackets if the process has no command line, for example while it is
 * being executed. */
static void read_command(int proc, const struct proc_entry *entry, struct init_process *out)
{
	char path[64];
	snprintf(path, sizeof path, "%d/cmdline", (int)out->pid);
	cleanup_fd int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out->command, sizeof out->command - 1);
	n = n < 0 ? 0 : n;
	while (n > 0 && out->command[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (out->command[i] == '\0')
			out->command[i] = ' ';
	out->command[n] = '\0';
	if (n == 0)
		snprintf(out->command, sizeof out->command, "[%s]", entry->name);
}

size_t rollback_count_minding(const pid_t *minders, size_t n)
{
	static struct members all;
	struct err err;
	size_t n_minding = 0;
	if (read_members(&all, &err) < 0)
		return n;
	for (size_t k = 0; k < n; k++) {
		bool is_minding = false;
		for (size_t i = 0; i < all.n && !is_minding; i++)
			is_minding = all.v[i].entry.ppid == minders[k] && !all.v[i].entry.is_over;
		n_minding += is_minding;
	}
	return n_minding;
}

ssize_t rollback_list(struct init_process *out, size_t room, const pid_t *minders, size_t n_minders)
{
	static struct members all;
	struct err err;
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), page = (uint64_t)sysconf(_SC_PAGESIZE);
	cleanup_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = proc < 0 ? -errno : read_members(&all, &err);
	size_t n = 0;
	if (r < 0 && !all.is_full)
		return r;
	for (size_t i = 0; i < all.n && n < room; i++) {
		const struct proc_entry *entry = &all.v[i].entry;
		if (entry->is_over || entry->state == 'Z')
			continue;
		out[n] = (struct init_process){.pid = entry->pid,
			.ppid = entry->ppid,
			.kind = entry->ppid == 1 && strcmp(entry->name, WIRE_GUARD_NAME) == 0
				? INIT_KIND_OWN
				: INIT_KIND_OTHER,
			.program = minder_of(&all, &all.v[i], minders, n_minders),
			.start_ms = entry->start_ticks * 1000 / hz,
			.cpu_ms = entry->cpu_ticks * 1000 / hz,
			.memory_bytes = entry->rss_pages * page};
		read_command(proc, entry, &out[n++]);
	}
	return (ssize_t)n;
}
