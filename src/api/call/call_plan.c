/*
 * Operations on plans. Plans, policies and tools are passed as texts, not as names of files. Each
 * plan is checked and run in a process of its own (planner/planner.h), and a thread waits for that
 * process (planner/plan_line.h). If the plan uses tool servers, the thread makes the calls, with a
 * loop and servers of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/agent/models.h"
#include "base/json.h"
#include "api/call/inside.h"
#include "api/operation/calls.h"
#include "api/operation/principal.h"
#include "planner/plan.h"
#include "planner/plan_line.h"
#include "planner/plan_tools.h"
#include "planner/planner.h"
#include "registry/owner.h"

#include <stdlib.h>
#include <string.h>

enum {
	PLAN_BYTES = 1 << 20,
	TOOLS_BYTES = 4 << 20,
	APPROVE_MAX = 64,
	FUEL = 20000000,
	FUEL_MAX = 100000000,
	MEMORY_BYTES = 256 << 20,
	MEMORY_MAX_BYTES = 1 << 30,
};

static const char no_tools[] = "{\"tools\": {}}";

/* A plan that a thread checks or runs. The thread does not change `params`, because other
 * threads may read them meanwhile. */
struct plan_work {
	struct plan_turn turn;
	struct operation_call *call;
	const json_t *params;
	bool is_run;
	struct plan_stop stop;
	json_t *result; /* result of planner_perform(); NULL: see `err` */
	struct err err;
};

/* Return whether the plan uses the engine's own tools. It does if the engine has tools for
 * plans, the caller is the operator, and the parameters of the plan contain no tools. */
static bool has_own_tools(const struct plan_work *w)
{
	const struct operation_context *c = w->call->context;
	return !param_get(w->params, "tools") && c->plan_tools && !c->principal;
}

static struct planner_job job_of(struct plan_work *w)
{
	const json_t *params = w->params;
	return (struct planner_job){.plan = param_text(params, "plan", ""),
		.policy = param_text(params, "policy", NULL),
		.request = param_text(params, "request", NULL),
		.tools = param_text(params, "tools", no_tools),
		.approve = w->is_run ? param_get(params, "approve") : NULL,
		.fuel = w->is_run ? param_count(params, "fuel", FUEL) : 0,
		.memory_bytes = w->is_run ? param_count(params, "memory_bytes", MEMORY_BYTES)
					  : MEMORY_BYTES,
		.is_run = w->is_run,
		.stop = &w->stop};
}

/* Perform the plan with the engine's own tools. Their servers are started for this plan, and end
 * with it. */
static int perform_own(struct plan_work *w, struct planner_job *job)
{
	const struct operation_context *context = w->call->context;
	cleanup_buf struct buf text = BUF_INIT(TOOLS_BYTES);
	struct plan_tools *opened;
	int r = plan_read_regular(context->plan_tools, &text, &w->err);
	if (r < 0)
		return r;
	const struct plan_tools_config config = {.text = buf_str(&text),
		.name = context->plan_tools,
		.may_start = true,
		.plan = job->plan,
		.policy = job->policy,
		.model = w->is_run && context->models ? context->models->fallback : NULL,
		.key_file = context->models ? context->models->key_file : NULL,
		.stop = &w->stop};
	r = plan_tools_open(&opened, &config, &w->err);
	if (r < 0)
		return r;
	job->tools = plan_tools_text(opened);
	job->tools_name = context->plan_tools;
	job->calls = opened;
	r = planner_perform(job, &w->result, &w->err);
	plan_tools_close(opened);
	return r;
}

static void work(struct plan_turn *turn)
{
	struct plan_work *w = container_of(turn, struct plan_work, turn);
	struct planner_job job = job_of(w);
	if (has_own_tools(w))
		(void)perform_own(w, &job);
	else
		(void)planner_perform(&job, &w->result, &w->err);
}

static const char *status_word(int status)
{
	return status == PLAN_OK			       ? "ok"
		: status == PLAN_DENIED			       ? "denied"
		: status == PLAN_FAILED			       ? "failed"
		: status == PLAN_LOST || status == PLAN_NO_KEY ? "lost"
							       : "invalid";
}

static void done(struct plan_turn *turn, const struct err *why)
{
	struct plan_work *w = container_of(turn, struct plan_work, turn);
	if (why)
		w->err = *why;
	if (w->result) {
		json_int_t n = json_integer_value(json_object_get(w->result, "status"));
		json_put_text(w->result, "status", status_word((int)n));
	}
	call_give(w->call, w->result, &w->err);
	plan_stop_done(&w->stop);
	free(w);
}

/* Cancel a plan: take it out of the queue, or end its process if it runs. */
static void cancel(struct operation_call *call)
{
	struct plan_work *w = call->waiter.arg;
	plan_stop_now(&w->stop);
	plan_line_leave(&w->turn);
}

static void start(struct operation_call *call, bool is_run)
{
	struct err err = {0};
	struct owner *caller = principal_owner(call->context->principal);
	if (caller && owner_take_steps(caller, 1, uv_hrtime(), &err) < 0) {
		call_fail(call, &err);
		return;
	}
	struct plan_work *w = calloc(1, sizeof *w);
	if (!w) {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for a plan");
		call_fail(call, &err);
		return;
	}
	*w = (struct plan_work){.turn = {.work = work, .done = done},
		.call = call,
		.params = call->params,
		.is_run = is_run};
	plan_stop_init(&w->stop);
	call->waiter.arg = w;
	if (!call->context->plans) {
		work(&w->turn);
		done(&w->turn, NULL);
		return;
	}
	call->cancel = cancel;
	if (plan_line_take(call->context->plans, &w->turn, caller, &err) < 0)
		done(&w->turn, &err);
}

static void start_check(struct operation_call *call)
{
	start(call, false);
}

static void start_run(struct operation_call *call)
{
	start(call, true);
}

/* ---- rows of the table of operations ---- */

#define PLAN_ROWS                                                                                  \
	{"plan", PARAM_TEXT, NEEDED, 0, PLAN_BYTES, .help = "text of the plan"},                   \
		{"policy", PARAM_TEXT, false, 0, PLAN_BYTES,                                       \
			.help = "text of the policy (default: the annotations of the tools "       \
				"decide)"},                                                        \
		{"tools", PARAM_TEXT, false, 1, TOOLS_BYTES,                                       \
			.help = "JSON text of the tools and their answers (default: the "          \
				"engine's "                                                        \
				"own tools)"},                                                     \
	{                                                                                          \
		"request", PARAM_TEXT, false, 0, TEXT_BYTES,                                       \
			.help = "the user's request: literals in it count as the user's"           \
	}

static const struct param check_rows[] = {PLAN_ROWS};
static const struct param run_rows[] = {
	PLAN_ROWS,
	{"approve", PARAM_TEXTS, .max = APPROVE_MAX,
		.help = "names of tools that may be called where the policy asks for approval"},
	{"fuel", PARAM_COUNT, false, 1, FUEL_MAX, .fallback = "20000000",
		.help = "steps that the plan may take"},
	{"memory_bytes", PARAM_COUNT, false, 1 << 20, MEMORY_MAX_BYTES, .fallback = "268435456",
		.help = "memory for the plan's values"},
};

#define FOUND_ROWS                                                                                 \
	{"diagnostics", PARAM_OBJECTS, NEEDED,                                                     \
		.help = "what is wrong: code, line, column, file, message, fix"},                  \
		MAY_GIVE("more", PARAM_COUNT, "diagnostics that are not listed"),                  \
		MAY_GIVE("denied", PARAM_COUNT, "calls that the policy denies"),                   \
		MAY_GIVE("asked", PARAM_COUNT, "calls for which the policy asks a person"),        \
		MAY_GIVE("depends", PARAM_COUNT, "calls that depend on values not known yet"),     \
	{                                                                                          \
		"calls", PARAM_OBJECTS, .help = "each call, with the labels that reach it"         \
	}

static const struct param checked_rows[] = {
	{"status", PARAM_CHOICE, NEEDED, .choices = "ok|denied|invalid",
		.help = "whether the plan may run; invalid: the plan cannot be checked"},
	FOUND_ROWS,
};
static const struct param token_rows[] = {
	GIVES("model", PARAM_TEXT, "the model that answered"),
	GIVES("questions", PARAM_COUNT, "number of questions"),
	GIVES("input", PARAM_COUNT, "tokens that the model read"),
	GIVES("output", PARAM_COUNT, "tokens that the model wrote"),
	GIVES("is_estimated", PARAM_FLAG,
		"an estimate of one token for four bytes, because a server sent no counts"),
};
static const struct param ran_rows[] = {
	{"status", PARAM_CHOICE, NEEDED, .choices = "ok|failed|denied|invalid|lost",
		.help = "how the plan ended; denied, invalid: perhaps before it began; lost: a "
			"server or the model did not answer"},
	GIVES("stdout", PARAM_DATA, "output of the plan"),
	MAY_GIVE("truncated", PARAM_FLAG, "the output is over 1 MiB: only its beginning is given"),
	{"tokens", PARAM_OBJECT, FIELDS(token_rows), .help = "tokens that ask() used"},
	FOUND_ROWS,
};

static const struct operation rows[] = {
	{"plan.check", "Check a plan against a policy, without running it", ROWS(check_rows),
		RESULT(checked_rows), .label = OPERATION_CALLER,
		.limits = "Four plans per caller run at a time, and 16 in all; others wait.",
		.errors = "auth|denied|gone|limit|protocol|quota|unreachable",
		.example = "{'plan': 'print(1 + 2)\\n'}",
		.answer = "{'status': 'ok', 'denied': 0, 'calls': [], 'diagnostics': []}",
		.start = start_check},
	{"plan.run", "Check a plan and run it when nothing is denied", ROWS(run_rows),
		RESULT(ran_rows), .label = OPERATION_PROGRAM,
		.limits = "Four plans per caller run at a time, and 16 in all; others wait. No "
			  "person is asked: where the policy asks, tools that `approve` does not "
			  "name are denied. Servers are started for this plan and ended with it.",
		.errors = "auth|denied|gone|limit|protocol|quota|unreachable",
		.example = "{'plan': 'print(1 + 2)\\n'}",
		.answer = "{'status': 'ok', 'stdout': '3\\n', 'diagnostics': []}",
		.start = start_run},
};

const struct operation_family plan_family = FAMILY(rows);
