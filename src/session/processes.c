/*
 * The programs that clients started in a session.
 *
 * The session has a list of them, newest first. A process that is over stays in the list, so that
 * its status and output can be asked for, until PROCESSES_OVER_MAX newer ones are over. A transient
 * one is dropped soon, and never shown after its end.
 *
 * Processes are no part of the session's history. A step that is rolled back and an undo leave them
 * alone as long as the session keeps its box; init knows which processes are meant
 * (init/rollback.h). If the session gives up its box, they end: processes_leave(). They may write
 * files at any time. So before a step, the files are listed anew if a process has run since they
 * were last listed (save_files_before()). Otherwise a rollback would take these files for the
 * step's own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/processes.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/word.h"
#include "session/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The caller of session_start_process(), until it is answered. */
struct process_asking {
	struct session *session;
	session_process_fn *done;
	void *arg;
};

bool session_has_processes(const struct session *s)
{
	return s->processes.n_running > 0;
}

bool session_is_in_use(const struct session *s)
{
	for (const struct process *p = s->processes.first; p; p = p->next)
		if (p->is_use && !process_is_over(p))
			return true;
	return false;
}

bool session_may_start(struct session *s)
{
	return s->state == SESSION_OPEN && session_box(s) && !s->box->is_over && !s->stemmed &&
		!is_rolling_back(s) && !s->restoring && !s->is_rebuilding &&
		networking_is_settled(s);
}

/* ---- the list ---- */

static void take_out(struct session *s, struct process *p)
{
	for (struct process **at = &s->processes.first; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			return;
		}
}

static void drop(struct session *s, struct process *p)
{
	take_out(s, p);
	s->processes.output_bytes -= 2 * p->output_bytes;
	process_let_go(p);
}

/* A list of the box that init is making may have the program: it is known as such until then. */
static bool is_forgettable(const struct session *s, const struct process *p)
{
	bool is_listed = s->processes.listed && p->over_ns >= s->processes.list_ns;
	return process_is_over(p) && !p->readers && !is_listed;
}

static void forget_transient(struct session *s)
{
	for (struct process *p = s->processes.first, *next; p; p = next) {
		next = p->next;
		if (p->is_transient && is_forgettable(s, p))
			drop(s, p);
	}
}

/* Forget the oldest processes that are over and that nobody follows, until at most @most of them
 * are left and @bytes more of output may be kept. */
static void forget_old(struct session *s, unsigned most, uint64_t bytes)
{
	forget_transient(s);
	for (;;) {
		struct process *oldest = NULL;
		unsigned n = 0;
		for (struct process *p = s->processes.first; p; p = p->next) {
			n += process_is_over(p);
			if (is_forgettable(s, p))
				oldest = p;
		}
		bool is_full = s->processes.output_bytes + bytes > PROCESSES_OUTPUT_BYTES;
		if (!oldest || (n <= most && !is_full))
			return;
		drop(s, oldest);
	}
}

static int fail_unknown(const struct session *s, const char *name, struct err *err)
{
	struct word_near near = WORD_NEAR(name);
	for (const struct process *p = s->processes.first; p; p = p->next)
		if (p->name[0])
			word_near_try(&near, p->name);
	err_set(err, ERR_NOT_FOUND, "no process \"%.64s\" in session %s", name, s->id);
	if (near.best)
		return err_hint(err, "did you mean %s?", near.best);
	return err_hint(err, "`process.list` lists the session's processes");
}

struct process *session_find_process(const struct session *s, const char *name, struct err *err)
{
	struct process *found = NULL;
	unsigned n_like = 0;
	for (struct process *p = s->processes.first; p; p = p->next)
		if (strcmp(p->id, name) == 0)
			return p;
	for (struct process *p = s->processes.first; p; p = p->next)
		if (strcmp(p->name, name) == 0 && (!found || !process_is_over(p)))
			found = found && !process_is_over(found) ? found : p;
	if (found)
		return found;
	for (struct process *p = s->processes.first; p; p = p->next)
		if (strlen(name) > 2 && strncmp(p->id, name, strlen(name)) == 0) {
			found = p;
			n_like++;
		}
	if (n_like == 1)
		return found;
	if (n_like > 1)
		err_fail(err, ERR_USAGE, "give more of it", "several processes begin with %.64s",
			name);
	else
		fail_unknown(s, name, err);
	return NULL;
}

/* ---- the environment ---- */

static bool has_name_of(const char *const *list, const char *variable)
{
	size_t bytes = strcspn(variable, "=");
	for (size_t i = 0; list[i]; i++)
		if (strncmp(list[i], variable, bytes) == 0 && list[i][bytes] == '=')
			return true;
	return false;
}

char **session_environment(const struct session *s, const char *const *more, struct err *err)
{
	static const char variable[] = "RETORT_SESSION=";
	char own[sizeof variable + RECORD_ID_BYTES];
	const struct runtime_start *start = order_start(s->order, runtime_by_name("shell"), err);
	size_t n = 0, n_more = 0;
	if (!start)
		start = order_start(s->order, s->order->runtime, err);
	if (!start)
		return NULL;
	while (more[n_more])
		n_more++;
	if (n_more > PROCESS_SIDE_MAX) {
		err_set(err, ERR_LIMIT, "more than %d variables", PROCESS_SIDE_MAX);
		return NULL;
	}
	char **all = xcalloc(n_more + RUNTIME_ENV_MAX + 2, sizeof *all);
	snprintf(own, sizeof own, "%s%s", variable, s->id);
	for (size_t i = 0; i < n_more; i++)
		all[n++] = xstrdup(more[i]);
	for (size_t i = 0; start->envp[i]; i++) {
		bool is_own = strncmp(start->envp[i], variable, sizeof variable - 1) == 0 &&
			!s->order->has_seed;
		if (!has_name_of(more, start->envp[i]))
			all[n++] = xstrdup(is_own ? own : start->envp[i]);
	}
	return all;
}

void session_free_environment(char **environment)
{
	for (size_t i = 0; environment && environment[i]; i++)
		free(environment[i]);
	free(environment);
}

/* ---- start and end ---- */

static void on_started(void *arg, struct process *p, const struct err *err)
{
	struct session *s = arg;
	struct process_asking *asking = take_ptr(p->asking);
	if (err) {
		s->processes.n_running--;
		drop(s, p);
	}
	if (!err)
		save_state_stay(s);
	if (asking)
		asking->done(asking->arg, err ? NULL : p, err);
	free(asking);
}

static void on_over(void *arg, struct process *p)
{
	struct session *s = arg;
	s->processes.n_running--;
	if (p->cpu_ms > 0)
		s->processes.ended_cpu_us += (uint64_t)p->cpu_ms * 1000;
	if (s->state == SESSION_CLOSING)
		return;
	s->processes.is_dirty = true;
	if (p->is_use && s->events.used)
		s->events.used(s->events.arg);
	forget_old(s, PROCESSES_OVER_MAX, 0);
}

static int check(struct session *s, const struct process_order *order, struct err *err)
{
	uint64_t bytes = 2 * (order->output_bytes ? order->output_bytes : PROCESS_OUTPUT_BYTES);
	for (const struct process *p = s->processes.first; order->name && p; p = p->next)
		if (!process_is_over(p) && strcmp(p->name, order->name) == 0)
			return err_fail(err, ERR_USAGE, "choose another name, or end that one",
				"a process with the name %s is running", order->name);
	if (s->processes.n_running == PROCESSES_MAX)
		return err_fail(err, ERR_LIMIT, "end some of them",
			"the session has %d running processes, the most that it may have",
			PROCESSES_MAX);
	forget_old(s, PROCESSES_OVER_MAX, bytes);
	if (s->processes.output_bytes + bytes > PROCESSES_OUTPUT_BYTES)
		return err_fail(err, ERR_LIMIT, "end some of them, or give less `output_bytes`",
			"the output of the session's processes would take over %d MiB",
			PROCESSES_OUTPUT_BYTES >> 20);
	return 0;
}

void session_start_process(
	struct session *s, const struct process_order *order, session_process_fn *done, void *arg)
{
	const struct process_events events = {.started = on_started, .over = on_over, .arg = s};
	struct err err;
	if (check(s, order, &err) < 0) {
		done(arg, NULL, &err);
		return;
	}
	struct process_order in_place = *order;
	if (!order->directory && s->order->workdir) {
		in_place.directory = s->order->workdir;
		in_place.may_make_directory = true;
	}
	struct process *p = process_new(s->box, &in_place, &events);
	p->asking = xnew(struct process_asking);
	*p->asking = (struct process_asking){s, done, arg};
	p->next = s->processes.first;
	s->processes.first = p;
	s->processes.n_running++;
	s->processes.output_bytes += 2 * p->output_bytes;
	/* The program may change the state that a stem has. */
	session_touch(s);
	s->processes.is_dirty = true;
	process_start(p, order);
}

void processes_leave(struct session *s, const struct box *box, enum process_cause cause)
{
	unsigned n = 0;
	processes_unlist(s);
	/* The end of one may have others dropped, so begin again after each. */
	for (struct process *p = s->processes.first; p;) {
		bool is_ended = p->box == box && !process_is_over(p);
		if (is_ended)
			process_end(p, cause);
		n += is_ended;
		p = is_ended ? s->processes.first : p->next;
	}
	if (cause == PROCESS_BOX_LEFT)
		s->processes.n_ended += n;
}

json_t *session_ended_processes(const struct session *s, uint64_t since_ns)
{
	json_t *all = NULL;
	for (const struct process *p = s->processes.first; p; p = p->next)
		if (process_is_over(p) && p->cause != PROCESS_EXITED && p->over_ns >= since_ns) {
			all = all ? all : json_need(json_array());
			json_add_new(all, process_json(p));
		}
	return all;
}

void processes_close(struct session *s)
{
	while (s->processes.first) {
		struct process *p = s->processes.first;
		process_end(p, PROCESS_CLOSED);
		/* A process that was not started yet is dropped by on_started(). */
		if (p == s->processes.first)
			drop(s, p);
	}
}
