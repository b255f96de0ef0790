/*
 * Lists all processes of a session's box, and counts the CPU time of those that clients started.
 *
 * Init reads /proc and writes what it finds into a file in memory (INIT_LIST). One list is made at
 * a time. Who asks meanwhile waits for the next one, so that each list is newer than the request
 * for it. In a branch, init may be hostile, so nothing in the list is trusted: it may be wrong, but
 * not harm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE 1
#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "session/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Processes in a step's record. */
enum { RECORD_PROCESSES_MAX = 32 };
enum { LIST_MS = 10000 }; /* time limit for init's list */
enum { ERRNO_MAX = 4095 };

/* Who waits for a list: somebody who wants the text of it, the CPU time, or both for a record. */
struct process_waiter {
	struct process_waiter *next;
	bool is_asked;
	session_listed_fn *listed;
	void *arg;
	processes_cpu_fn *measured;
	void (*counted)(struct session *s);
};

struct list {
	struct init_process *v;
	size_t n;
};

static void add(struct session *s, const struct process_waiter *waiter);
static void ask(struct session *s);

/* ---- CPU time ---- */

static uint64_t cpu_us_of(const struct list *list, int32_t program)
{
	uint64_t ms = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].program == program)
			ms += MIN(list->v[i].cpu_ms, UINT32_MAX);
	return ms * 1000;
}

static uint64_t memory_of(const struct list *list, int32_t program)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].program == program)
			bytes += MIN(list->v[i].memory_bytes, UINT64_C(1) << 48);
	return bytes;
}

/* Return the CPU time of all processes of clients, also of those that are over. The minder of a
 * program is in the list as long as one of its descendants runs, and has the time of those that
 * have ended. */
static uint64_t all_cpu_us(const struct session *s, const struct list *list)
{
	uint64_t ms = 0, twice_ms = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].program > 0)
			ms += MIN(list->v[i].cpu_ms, UINT32_MAX);
	for (const struct process *p = s->processes.first; p; p = p->next)
		if (process_is_over(p) && p->cpu_ms > 0 && cpu_us_of(list, p->pid) > 0)
			twice_ms += (uint64_t)p->cpu_ms;
	return (ms - MIN(ms, twice_ms)) * 1000 + s->processes.ended_cpu_us;
}

static void note_base(struct session *s, uint64_t cpu_us)
{
	s->processes.base_us = cpu_us;
}

static uint64_t boot_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void processes_step_began(struct session *s)
{
	struct step_time *time = &s->processes.times[s->processes.n_times++ % STEP_TIMES];
	*time = (struct step_time){.began_ms = boot_ms()};
	s->processes.base_us = s->processes.ended_cpu_us;
	if (session_has_processes(s))
		processes_measure(s, note_base);
}

void processes_step_named(struct session *s, const char *step)
{
	if (s->processes.n_times == 0)
		return;
	struct step_time *time = &s->processes.times[(s->processes.n_times - 1) % STEP_TIMES];
	memcpy(time->step, step, sizeof time->step);
}

/* ---- the list as JSON ---- */

static bool is_ours(const struct session *s, const struct init_process *entry)
{
	int32_t pids[SESSION_KNOWN_MAX];
	size_t n = session_list_known(s, pids);
	bool is_known = entry->kind == INIT_KIND_OWN || entry->pid <= 1;
	for (size_t i = 0; i < n; i++)
		is_known |= pids[i] == entry->pid;
	return is_known;
}

/* Return the step that a process which began at @start_ms is one of, or NULL if that is not known.
 * The start time is rounded down to a clock tick. */
static const struct step_time *step_of(const struct session *s, uint64_t start_ms)
{
	enum { TICK_MS = 10 };
	const struct step_time *found = NULL;
	for (size_t i = 0; i < MIN(s->processes.n_times, (uint64_t)STEP_TIMES); i++) {
		const struct step_time *time = &s->processes.times[i];
		if (time->began_ms <= start_ms + TICK_MS &&
			(!found || time->began_ms > found->began_ms))
			found = time;
	}
	return found;
}

/* Return whether @entry is a program that has a row of its own, also if it has ended since init was
 * asked. */
static bool is_program(const struct session *s, const struct init_process *entry)
{
	for (const struct process *p = s->processes.first; p; p = p->next)
		if (entry->pid > 0 && p->pid == entry->pid &&
			(!process_is_over(p) || p->over_ns >= s->processes.list_ns))
			return true;
	return false;
}

/* Return the process from whose program @entry descends, also if the program itself has ended. */
static const struct process *ancestor_of(const struct session *s, const struct init_process *entry)
{
	for (const struct process *p = s->processes.first; p; p = p->next)
		if (entry->program > 0 && p->pid == entry->program && p->box == s->box)
			return p;
	return NULL;
}

static json_t *other_json(const struct session *s, const struct init_process *entry)
{
	json_t *out = json_need(json_object());
	const struct process *of = ancestor_of(s, entry);
	const struct step_time *time = of ? NULL : step_of(s, entry->start_ms);
	json_put_int(out, "pid", entry->pid);
	json_put_int(out, "ppid", entry->ppid);
	json_put_text(out, "command", entry->command);
	json_put_text(out, "by", entry->program > 0 ? "call" : "step");
	json_put_text(out, "of", of ? of->id : NULL);
	json_put_text(out, "step", time && time->step[0] ? time->step : NULL);
	json_put_text(out, "state", "running");
	json_put_int(out, "cpu_ms", (int64_t)MIN(entry->cpu_ms, UINT32_MAX));
	json_put_int(out, "memory_bytes", (int64_t)MIN(entry->memory_bytes, UINT64_C(1) << 48));
	return out;
}

static json_t *list_json(const struct session *s, const struct list *list)
{
	json_t *all = json_need(json_array());
	for (const struct process *p = s->processes.first; p; p = p->next) {
		if (process_is_over(p) && p->is_transient)
			continue;
		json_t *row = process_json(p);
		if (!process_is_over(p)) {
			json_put_int(row, "cpu_ms", (int64_t)(cpu_us_of(list, p->pid) / 1000));
			json_put_int(row, "memory_bytes", (int64_t)memory_of(list, p->pid));
		}
		json_add_new(all, row);
	}
	for (size_t i = 0; i < list->n; i++)
		if (!is_ours(s, &list->v[i]) && !is_program(s, &list->v[i]))
			json_add_new(all, other_json(s, &list->v[i]));
	return all;
}

/* ---- the processes in a step's record ---- */

/* Return how many processes and threads the box has besides init, drivers and guards, if @u counts
 * them. */
static uint64_t n_others(const struct session *s, const struct box_usage *u)
{
	int32_t pids[SESSION_KNOWN_MAX];
	uint64_t n = 1 + session_list_known(s, pids);
	for (size_t i = 0; i < ARRAY_LEN(s->drivers); i++)
		n += s->drivers[i].driver != NULL;
	return u->n_pids > n ? u->n_pids - n : 0;
}

static void note_others(struct session *s, const struct list *list)
{
	json_t *others = json_need(json_array());
	for (size_t i = 0; i < list->n && json_array_size(others) < RECORD_PROCESSES_MAX; i++)
		if (!is_ours(s, &list->v[i]) && !is_program(s, &list->v[i]))
			json_add_new(others, other_json(s, &list->v[i]));
	s->processes.others = others;
	/* If these are only threads of drivers, do not look for processes again until there are
	 * more. */
	if (json_array_size(others) == 0 && list->n > 0)
		s->processes.n_usual = n_others(s, &s->record.usage);
}

/* Take the CPU time that processes of clients have used off that of the step. */
static void charge(struct session *s, uint64_t cpu_us)
{
	uint64_t others_us = cpu_us - MIN(cpu_us, s->processes.base_us);
	s->record.usage.cpu_us -= MIN(s->record.usage.cpu_us, others_us);
}

bool processes_count(struct session *s, void (*done)(struct session *s))
{
	bool has_others = n_others(s, &s->record.usage) > s->processes.n_usual;
	json_decref(take_ptr(s->processes.others));
	if (session_has_processes(s) || has_others) {
		add(s, &(struct process_waiter){.counted = done});
		return true;
	}
	s->processes.seen_us = MAX(s->processes.seen_us, s->processes.ended_cpu_us);
	charge(s, s->processes.seen_us);
	return false;
}

void processes_tell(struct session *s)
{
	json_t *all = take_ptr(s->processes.others);
	for (const struct process *p = s->processes.first; p; p = p->next) {
		bool is_ended = process_is_over(p) && p->cause != PROCESS_EXITED &&
			p->over_ns >= s->asked_ns;
		if (process_is_over(p) && !is_ended)
			continue;
		all = all ? all : json_need(json_array());
		if (json_array_size(all) < RECORD_PROCESSES_MAX)
			json_add_new(all, process_json(p));
	}
	json_decref(s->record.processes);
	s->record.processes = all;
	if (all && json_array_size(all) == 0)
		json_decref(take_ptr(s->record.processes));
}

/* ---- requests to init ---- */

static void answer(struct session *s, struct process_waiter *w, const struct list *list, int status)
{
	struct err err;
	s->processes.seen_us = all_cpu_us(s, list);
	if (w->counted) {
		note_others(s, list);
		charge(s, s->processes.seen_us);
		w->counted(s);
	} else if (w->measured) {
		w->measured(s, s->processes.seen_us);
	} else if (status < 0) {
		err_sys(&err, ERR_BOX, -status, "list the processes of the box");
		w->listed(w->arg, NULL, &err);
	} else {
		json_t *all = list_json(s, list);
		w->listed(w->arg, all, NULL);
		json_decref(all);
	}
}

static struct process_waiter *take_asked(struct session *s)
{
	struct process_waiter *w = s->processes.waiters;
	if (!w || !w->is_asked)
		return NULL;
	s->processes.waiters = w->next;
	return w;
}

/* Answer all who asked for this list. A callee may close the session, and thereby forget the
 * others. */
static void answer_all(struct session *s, const struct list *list, int status)
{
	struct process_waiter *w;
	while (s->state != SESSION_CLOSING && (w = take_asked(s))) {
		answer(s, w, list, status);
		free(w);
	}
}

/* Read the @n entries that init has written, or take its error, which is negative. Returns: 0, or
 * negative errno. */
static int read_list(int fd, struct list *list, int n)
{
	size_t most = MIN((size_t)MAX(n, 0), (size_t)WIRE_LIST_MAX);
	list->v = xcalloc(most + 1, sizeof *list->v);
	ssize_t bytes = pread(fd, list->v, most * sizeof *list->v, 0);
	list->n = bytes > 0 ? (size_t)bytes / sizeof *list->v : 0;
	for (size_t i = 0; i < list->n; i++)
		list->v[i].command[WIRE_COMMAND_BYTES - 1] = '\0';
	if (n < 0) /* what a lying init says need not be an errno */
		return n < -ERRNO_MAX ? -EPROTO : n;
	return bytes < 0 ? -errno : 0;
}

static void on_listed(void *arg, int n)
{
	struct session *s = arg;
	struct list list = {0};
	int fd = fd_take(&s->processes.list_fd);
	struct box *box = take_ptr(s->processes.listed);
	deadline_stop(&s->processes.late);
	int status = read_list(fd, &list, n);
	(void)close(fd);
	/* A callee may close the session. It is freed later, from the loop. */
	answer_all(s, &list, status);
	free(list.v);
	box_let_go(box);
	if (s->state != SESSION_CLOSING && s->processes.waiters)
		ask(s);
}

/* Init does not answer. Whoever controls it, a step or a client must not wait for it. */
static void on_late(uv_timer_t *timer)
{
	struct session *s = timer->data;
	if (s->processes.listed)
		s->processes.listed->listed = NULL;
	on_listed(s, -ETIMEDOUT);
}

static void ask(struct session *s)
{
	struct list none = {0};
	struct box *box = session_box(s);
	if (s->processes.listed)
		return;
	for (struct process_waiter *w = s->processes.waiters; w; w = w->next)
		w->is_asked = true;
	if (!box || box->is_over || box->listed) {
		answer_all(s, &none, 0);
		return;
	}
	int fd = memfd_create("processes", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : init_list(&box->init, ++box->list_id, fd);
	if (r < 0) {
		fd_close(&fd);
		answer_all(s, &none, r);
		return;
	}
	s->processes.list_fd = fd;
	s->processes.list_ns = uv_hrtime();
	s->processes.listed = box_hold(box);
	box->listed = on_listed;
	box->listed_arg = s;
	deadline_start(&s->processes.late, on_late, LIST_MS);
}

static void add(struct session *s, const struct process_waiter *waiter)
{
	struct process_waiter **last = &s->processes.waiters;
	while (*last)
		last = &(*last)->next;
	*last = xnew(struct process_waiter);
	**last = *waiter;
	ask(s);
}

void processes_measure(struct session *s, processes_cpu_fn *done)
{
	add(s, &(struct process_waiter){.measured = done});
}

void session_list_processes(struct session *s, session_listed_fn *done, void *arg)
{
	add(s, &(struct process_waiter){.listed = done, .arg = arg});
}

void session_unlist_processes(struct session *s, const void *arg)
{
	for (struct process_waiter **at = &s->processes.waiters; *at;) {
		struct process_waiter *w = *at;
		if (w->listed && w->arg == arg) {
			*at = w->next;
			free(w);
		} else {
			at = &w->next;
		}
	}
}

void processes_unlist(struct session *s)
{
	struct box *box = take_ptr(s->processes.listed);
	struct err err;
	if (box) {
		deadline_stop(&s->processes.late);
		box->listed = NULL;
		fd_close(&s->processes.list_fd);
		box_let_go(box);
	}
	err_set(&err, ERR_GONE, "the session's box is gone");
	while (s->processes.waiters) {
		struct process_waiter *w = s->processes.waiters;
		s->processes.waiters = w->next;
		if (w->listed)
			w->listed(w->arg, NULL, &err);
		else if (w->counted && s->state != SESSION_CLOSING)
			w->counted(s);
		free(w);
	}
}

static void stop_for_cpu(struct session *s, uint64_t others_us)
{
	uint64_t slack_us = s->end.is_cpu_following ? CPU_SLACK_US : 0;
	uint64_t limit_us = s->record.limits.value[LIMIT_cpu_ms] * 1000 + slack_us;
	uint64_t box_us = s->box ? s->box->usage.cpu_us : 0;
	if (others_us > s->processes.base_us)
		s->base_cpu_us += others_us - s->processes.base_us;
	s->processes.base_us = MAX(s->processes.base_us, others_us);
	if (box_us >= s->base_cpu_us + limit_us && s->step_state != STEP_NONE &&
		!step_is_over(s->step_state))
		step_stop(s, STEP_CAUSE_CPU, STEP_LIMIT, NULL);
}

void processes_stop_step(struct session *s)
{
	processes_measure(s, stop_for_cpu);
}
