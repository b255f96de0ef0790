/*
 * Enforces limits on leftover processes between two steps.
 *
 * Processes that a step has started may run on after it. A cgroup limits their memory, but only the
 * engine can limit their total CPU time. Without a cgroup, the engine enforces the limit of memory
 * as well. So the engine goes on measuring their usage after a step. The intervals grow while no
 * CPU time is used.
 *
 * If a limit is exceeded, the engine kills the processes that are neither drivers nor guards nor
 * programs of clients. If a limit is exceeded again, it kills the programs of clients as well. If
 * that does not help, the cause must be a driver, or a process that a driver falsely reported as
 * its guard. So the engine then kills everything in the box. The record of the next step reports
 * that processes were killed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/timer.h"
#include "session/inside.h"

enum {
	FIRST_MS = 250,
	/* Longest interval between two measurements of the box's usage if the engine enforces
	 * the limit of memory. */
	MEMORY_MAX_MS = 1000,
	CPU_MAX_MS = 4000,
	/* Interval until the next measurement of the box's usage after processes were killed. */
	AGAIN_MS = 50,
};

static void on_look(uv_timer_t *timer);

static bool is_measured(const struct session *s, enum limit limit)
{
	return s->box->by[limit] == LIMIT_BY_ENGINE;
}

static bool is_over_cpu(const struct session *s)
{
	const struct idle_limits *l = &s->idle_limits;
	return l->seen_us > l->base_us + s->box->limits.value[LIMIT_cpu_ms] * 1000;
}

/* Return a notice that a limit is exceeded, or NULL. */
static const char *find_excess(struct session *s, const struct box_usage *u)
{
	const uint64_t *limit = s->box->limits.value;
	if (is_measured(s, LIMIT_memory_bytes) && u->memory_bytes > limit[LIMIT_memory_bytes])
		return "processes that steps left running were ended: between two steps they went "
		       "over the limit of memory";
	if (is_measured(s, LIMIT_pids) && u->n_pids > limit[LIMIT_pids] + SPAWN_OWN)
		return "processes that steps left running were ended: between two steps they went "
		       "over the limit of processes";
	return NULL;
}

static void end_all(struct session *s)
{
	int32_t pids[SESSION_KNOWN_MAX];
	struct idle_limits *l = &s->idle_limits;
	bool is_last = l->n_sweeps >= (session_has_processes(s) ? 2 : 1);
	if (is_last)
		init_kill_all(&s->box->init);
	else
		init_sweep(&s->box->init, pids, session_list_known(s, pids), l->n_sweeps++ > 0);
}

/* End what goes over a limit, of which @excess is the notice, and look again. NULL: nothing does.
 */
static void judge(struct session *s, const char *excess, bool is_busy)
{
	struct idle_limits *l = &s->idle_limits;
	uint64_t most_ms = is_measured(s, LIMIT_memory_bytes) ? MEMORY_MAX_MS : CPU_MAX_MS;
	if (excess) {
		end_all(s);
		l->said = excess;
		l->base_us = l->seen_us;
	}
	l->delay_ms = excess ? AGAIN_MS : is_busy ? FIRST_MS : MIN(l->delay_ms * 2, most_ms);
	timer_start(&s->meter, on_look, l->delay_ms, 0);
}

/* The CPU time of the box went over the limit. The processes of clients, which have used
 * @clients_us of it in all, have limits of their own. So judge by the rest. */
static void on_clients_measured(struct session *s, uint64_t clients_us)
{
	struct idle_limits *l = &s->idle_limits;
	if (!session_is_idle(s) || !s->box || s->box->is_over)
		return;
	if (clients_us > l->clients_us)
		l->base_us += clients_us - l->clients_us;
	l->clients_us = MAX(l->clients_us, clients_us);
	judge(s,
		is_over_cpu(s) ? "processes that steps left running were ended: between two steps "
				 "they went over the limit of CPU time"
			       : NULL,
		true);
}

static void on_seen(void *arg, const struct box_usage *u)
{
	struct session *s = arg;
	struct idle_limits *l = &s->idle_limits;
	/* This measurement was requested between two steps. If a step has begun since then, hand
	 * the measurement to that step. The step could not request one of its own, because only
	 * one measurement can be pending at a time. */
	if (s->step_state != STEP_NONE) {
		step_measured(s, u);
		return;
	}
	if (!u || !s->box || s->box->is_over)
		return;
	bool is_busy = u->cpu_us > l->seen_us;
	const char *excess = session_is_idle(s) ? find_excess(s, u) : NULL;
	l->seen_us = u->cpu_us;
	if (!excess && session_is_idle(s) && is_over_cpu(s))
		processes_measure(s, on_clients_measured);
	else
		judge(s, excess, is_busy);
}

static void on_look(uv_timer_t *timer)
{
	struct session *s = timer->data;
	if (s->step_state == STEP_NONE && s->box && !s->box->is_over)
		(void)box_ask_usage(s->box, on_seen, s);
}

void idle_limits_watch(struct session *s)
{
	struct idle_limits *l = &s->idle_limits;
	l->base_us = l->seen_us = s->last_cpu_us;
	l->clients_us = s->processes.seen_us;
	l->delay_ms = FIRST_MS;
	l->n_sweeps = 0;
	if (!s->is_once && s->box)
		timer_start(&s->meter, on_look, l->delay_ms, 0);
}

void idle_limits_tell(struct session *s)
{
	s->idle_limits.said_now = NULL;
	/* Nobody reads the record of a step that runs again. So keep the notice for a
	 * later step. */
	if (s->step->is_again)
		return;
	s->idle_limits.said_now = s->idle_limits.said;
	s->idle_limits.said = NULL;
}
