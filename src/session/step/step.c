/*
 * The state machine of one step, and the verdict on its end.
 *
 * A requested step waits (ASKED) until its session has a box and is idle. Then its code is sent
 * (RUNNING). Usually the step ends by itself, with a result or with the end of its driver. If a
 * limit is reached or the caller interrupts it, it gets SIGINT (STOPPING). A step that does not end
 * within the grace is settled all the same. When the step is over (SETTLING), the session commits
 * it or rolls it back, and measures its usage. Then the record is complete and gets its name
 * (NAMING).
 *
 * The table only decides about the next state. The first cause of an end is kept: SETTLING has no
 * entry for a result or another limit that arrives later, so these are ignored. step_judge()
 * derives status, exit status and error of the record from this cause. If there is no such cause,
 * it uses the result of the step; without a result, it uses the driver's wait status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/step/step.h"

#include "base/num.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* An event without an entry for a state is ignored in that state. */
/* clang-format off */
static const struct step_move moves[STEP_STATE_END_][STEP_EVENT_END_] = {
	[STEP_ASKED] = {
		[STEP_SENT] = {STEP_RUNNING, STEP_IGNORE},
		[STEP_BROKEN] = {STEP_SETTLING, STEP_SETTLE},
		[STEP_LIMIT] = {STEP_SETTLING, STEP_SETTLE}, /* no code was sent yet */
		[STEP_MEMORY] = {STEP_SETTLING, STEP_SETTLE},
	},
	[STEP_RUNNING] = {
		[STEP_RESULT] = {STEP_SETTLING, STEP_SETTLE},
		[STEP_EXITED] = {STEP_SETTLING, STEP_SETTLE},
		[STEP_BROKEN] = {STEP_SETTLING, STEP_SETTLE},
		[STEP_LIMIT] = {STEP_STOPPING, STEP_INTERRUPT},
		[STEP_MEMORY] = {STEP_SETTLING, STEP_SETTLE},
	},
	[STEP_STOPPING] = {
		[STEP_RESULT] = {STEP_SETTLING, STEP_SETTLE},
		[STEP_EXITED] = {STEP_SETTLING, STEP_SETTLE},
		[STEP_BROKEN] = {STEP_SETTLING, STEP_SETTLE},
		[STEP_MEMORY] = {STEP_SETTLING, STEP_SETTLE},
		[STEP_GRACE] = {STEP_SETTLING, STEP_SETTLE},
	},
	[STEP_SETTLING] = {
		[STEP_SETTLED] = {STEP_NAMING, STEP_NAME},
	},
	[STEP_NAMING] = {
		[STEP_NAMED] = {STEP_NONE, STEP_FINISH},
	},
};
/* clang-format on */

struct step_move step_advance(enum step_state state, enum step_event event)
{
	bool is_known = state < STEP_STATE_END_ && event < STEP_EVENT_END_;
	struct step_move move = is_known ? moves[state][event] : (struct step_move){0};
	bool is_listed = move.next != STEP_NONE || move.action != STEP_IGNORE;
	return is_listed ? move : (struct step_move){state, STEP_IGNORE};
}

bool step_is_over(enum step_state state)
{
	return state == STEP_SETTLING || state == STEP_NAMING;
}

static void judge_cause(struct record *r, const struct step_end *end)
{
	const uint64_t *limit = r->limits.value;
	switch (end->cause) {
	case STEP_CAUSE_WALL:
		r->status = RECORD_TIMEOUT;
		r->exit_status = 124;
		record_set_error(r, "TimeLimit",
			"the step ran longer than its limit of %s of wall time",
			num_format_ms(limit[LIMIT_timeout_ms]).text);
		break;
	case STEP_CAUSE_WAIT:
		r->status = RECORD_TIMEOUT;
		r->exit_status = 124;
		record_set_error(r, "TimeLimit",
			"the step ran and waited for answers longer than ten times its limit of %s",
			num_format_ms(limit[LIMIT_timeout_ms]).text);
		break;
	case STEP_CAUSE_CPU:
		r->status = RECORD_TIMEOUT;
		r->exit_status = 124;
		record_set_error(r, "TimeLimit",
			"the step used more than its limit of %s of CPU time%s",
			num_format_ms(limit[LIMIT_cpu_ms]).text,
			end->is_cpu_following ? ", which follows the limit of wall time" : "");
		break;
	case STEP_CAUSE_CALLER:
		r->status = RECORD_KILLED;
		r->exit_status = 130;
		record_set_error(r, "Interrupted", "the caller stopped the step");
		break;
	case STEP_CAUSE_PROTOCOL:
		r->status = RECORD_KILLED;
		r->exit_status = 125;
		record_set_error(r, "ProtocolError", "the driver broke the protocol: %s", end->why);
		break;
	case STEP_CAUSE_BOX:
		r->status = RECORD_KILLED;
		r->exit_status = err_exit(end->why_code ? end->why_code : ERR_BOX);
		record_set_error(r, "BoxGone", "%s", end->why);
		break;
	case STEP_CAUSE_PIDS:
		r->status = RECORD_KILLED;
		r->signal = SIGKILL;
		r->exit_status = 128 + SIGKILL;
		record_set_error(r, "ProcessLimit",
			"the step had more processes than its limit of %llu",
			(unsigned long long)limit[LIMIT_pids]);
		break;
	case STEP_CAUSE_MEMORY:
	case STEP_CAUSE_NONE:
		break;
	}
}

static void judge_memory(struct record *r)
{
	r->status = RECORD_OOM;
	r->exit_status = 128 + SIGKILL;
	r->signal = SIGKILL;
	record_set_error(r, "MemoryLimit", "the step needed more than its limit of %s of memory",
		num_format_bytes(r->limits.value[LIMIT_memory_bytes]).text);
}

static void judge_exit(struct record *r, const struct step_end *end)
{
	int wait_status = end->wait_status;
	if (WIFEXITED(wait_status)) {
		r->exit_code = WEXITSTATUS(wait_status);
		r->exit_status = r->exit_code;
		r->has_exited = end->is_session;
		r->status = r->exit_code == 0 ? RECORD_OK : RECORD_ERROR;
		if (r->exit_code != 0)
			record_set_error(
				r, "Exit", "the program ended itself with status %d", r->exit_code);
		return;
	}
	r->signal = WTERMSIG(wait_status);
	if (r->signal == SIGKILL && r->usage.n_oom_kills > 0) {
		judge_memory(r);
		return;
	}
	r->status = RECORD_KILLED;
	r->exit_status = 128 + r->signal;
	record_set_error(r, "Killed", "ended by signal %d (%s)", r->signal, strsignal(r->signal));
}

void step_judge(struct record *r, const struct step_end *end)
{
	r->outcome = end->is_session ? end->outcome
		: end->has_result    ? RECORD_COMMITTED
				     : RECORD_LOST;
	if (end->has_result) {
		r->status = end->is_error ? RECORD_ERROR : RECORD_OK;
		r->exit_status = end->exit_code;
		r->has_exited = end->is_session && end->is_exit;
		/* If the step was interrupted, the runtime's exit code says nothing about the
		 * step. */
		if (end->cause == STEP_CAUSE_NONE)
			r->exit_code = end->exit_code;
	}
	if (end->cause == STEP_CAUSE_MEMORY)
		judge_memory(r);
	else if (end->cause != STEP_CAUSE_NONE)
		judge_cause(r, end);
	else if (!end->has_result && end->has_exited)
		judge_exit(r, end);
	if (r->outcome == RECORD_LOST)
		r->reason = "the driver process is gone and no checkpoint was kept";
}
