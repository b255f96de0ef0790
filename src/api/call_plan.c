/*
 * Operations on plans. They take texts, no paths, and run on a thread of the loop's: neither the
 * checker nor the evaluator has state of its own, and both are bounded by fuel and memory. A plan
 * that calls servers waits for them on that thread, with a loop and servers of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/call.h"
#include "api/plan_check.h"
#include "api/models.h"
#include "api/plan_run.h"
#include "api/plan_stop.h"
#include "api/principal.h"
#include "api/rows.h"
#include "base/utf8.h"
#include "session/owner.h"

#include <stdlib.h>
#include <string.h>

enum {
	PLAN_BYTES = 1 << 20,
	TOOLS_BYTES = 4 << 20,
	PRINTED_BYTES = 1 << 20,
	APPROVE_MAX = 64,
	FUEL = 20000000,
	FUEL_MAX = 100000000,
	MEMORY_BYTES = 256 << 20,
	MEMORY_MAX_BYTES = 1 << 30,
};

static const char no_tools[] = "{\"tools\": {}}";

/* What a thread works on. Only the parameters are shared, and nobody changes them. */
struct plan_work {
	uv_work_t work;
	struct operation_call *call;
	const json_t *params;
	bool is_run;
	struct plan_stop stop;
	struct buf printed, report;
	bool is_cut;
	int status; /* enum plan_status, or negative errno and `err` */
	struct err err;
};

static int print(void *arg, const char *text, size_t bytes)
{
	struct plan_work *w = arg;
	w->is_cut = w->is_cut || buf_append(&w->printed, text, bytes) < 0;
	return 0;
}

static bool may_call(void *arg, const char *tool)
{
	const struct plan_work *w = arg;
	const json_t *names = param_get(w->params, "approve");
	for (size_t i = 0; i < json_array_size(names); i++)
		if (strcmp(json_string_value(json_array_get(names, i)), tool) == 0)
			return true;
	return false;
}

/* Tools that a caller brings answer themselves. The engine's own are for its runner. */
static bool has_own_tools(const struct plan_work *w)
{
	const struct operation_context *c = w->call->context;
	return !param_get(w->params, "tools") && c->plan_tools && !c->principal;
}

static int perform(struct plan_work *w, const char *tools, bool is_own)
{
	const json_t *params = w->params;
	const struct operation_context *context = w->call->context;
	const char *plan = param_text(params, "plan", "");
	const struct plan_check_request check = {.plan = plan,
		.policy = param_text(params, "policy", NULL),
		.tools = tools,
		.request = param_text(params, "request", NULL),
		.tools_name = is_own ? context->plan_tools : NULL,
		.stop = &w->stop,
		.is_text = true,
		.may_start = is_own,
		.output = PLAN_JSON};
	const struct plan_request run = {.path = plan,
		.fuel = param_count(params, "fuel", FUEL),
		.memory_bytes = param_count(params, "memory_bytes", MEMORY_BYTES),
		.arg = w,
		.print = print,
		.tools_path = tools,
		.policy_path = check.policy,
		.request = check.request,
		.tools_name = check.tools_name,
		.model = is_own && context->models ? context->models->fallback : NULL,
		.key_file = is_own && context->models ? context->models->key_file : NULL,
		.may_start = is_own,
		.stop = &w->stop,
		.is_json = true,
		.is_text = true,
		.may_call = may_call};
	return w->is_run ? plan_perform(&run, true, &w->report, &w->err)
			 : plan_check(&check, &w->report, &w->err);
}

static void work(uv_work_t *request)
{
	struct plan_work *w = request->data;
	cleanup_buf struct buf text = BUF_INIT(TOOLS_BYTES);
	bool is_own = has_own_tools(w);
	w->status = is_own ? plan_read_regular(w->call->context->plan_tools, &text, &w->err) : 0;
	if (w->status == 0)
		w->status = perform(w,
			is_own ? buf_str(&text) : param_text(w->params, "tools", no_tools), is_own);
}

static const char *status_word(int status)
{
	return status == PLAN_OK			       ? "ok"
		: status == PLAN_DENIED			       ? "denied"
		: status == PLAN_FAILED			       ? "failed"
		: status == PLAN_LOST || status == PLAN_NO_KEY ? "lost"
							       : "invalid";
}

/* What was found, and of a run what it printed. */
static json_t *result_of(const struct plan_work *w)
{
	json_t *out = json_pack("{s:s, s:[]}", "status", status_word(w->status), "diagnostics");
	json_t *report = json_loadb(buf_str(&w->report), w->report.bytes, 0, NULL);
	(void)json_object_update(out, report);
	(void)json_object_del(out, "ok");
	json_decref(report);
	if (!w->is_run)
		return out;
	/* It is the program's text, and a cut may have split a character. */
	size_t bytes = utf8_cut(buf_str(&w->printed), w->printed.bytes, PRINTED_BYTES);
	(void)json_object_set_new(out, "stdout", json_stringn(buf_str(&w->printed), bytes));
	if (w->is_cut)
		(void)json_object_set_new(out, "truncated", json_true());
	return out;
}

static void done(uv_work_t *work, int status)
{
	struct plan_work *w = work->data;
	/* It was given up while it stood in line. */
	if (status < 0)
		w->status =
			err_set(&w->err, ERR_INTERRUPTED, "the plan was given up before it began");
	json_t *result = w->status < 0 ? NULL : result_of(w);
	call_give(w->call, result, &w->err);
	plan_stop_done(&w->stop);
	buf_done(&w->printed);
	buf_done(&w->report);
	free(w);
}

/* What it waits for does not come; a plan that computes ends by its fuel. */
static void cancel(struct operation_call *call)
{
	struct plan_work *w = call->waiter.arg;
	plan_stop_now(&w->stop);
	(void)uv_cancel((uv_req_t *)&w->work);
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
	*w = (struct plan_work){.work = {.data = w},
		.call = call,
		.params = call->params,
		.is_run = is_run,
		.printed = BUF_INIT(PRINTED_BYTES)};
	plan_stop_init(&w->stop);
	call->waiter.arg = w;
	call->cancel = cancel;
	if (call->context->loop && uv_queue_work(call->context->loop, &w->work, work, done) == 0)
		return;
	work(&w->work);
	done(&w->work, 0);
}

static void start_check(struct operation_call *call)
{
	start(call, false);
}

static void start_run(struct operation_call *call)
{
	start(call, true);
}

/* ---- the rows ---- */

#define PLAN_ROWS                                                                                     \
	{"plan", PARAM_TEXT, NEEDED, 0, PLAN_BYTES, .help = "text of the plan"},                      \
		{"policy", PARAM_TEXT, false, 0, PLAN_BYTES,                                          \
			.help = "text of the policy; else what tools say of themselves decides"},     \
		{"tools", PARAM_TEXT, false, 1, TOOLS_BYTES,                                          \
			.help = "JSON text: the tools, and what they answer; else the engine's own"}, \
	{                                                                                             \
		"request", PARAM_TEXT, false, 0, TEXT_BYTES,                                          \
			.help = "what the user asked for, where values of the plan may come from"     \
	}

static const struct param check_rows[] = {PLAN_ROWS};
static const struct param run_rows[] = {
	PLAN_ROWS,
	{"approve", PARAM_TEXTS, .max = APPROVE_MAX,
		.help = "names of tools that may be called where the policy asks; others may not"},
	{"fuel", PARAM_COUNT, false, 1, FUEL_MAX, .fallback = "20000000",
		.help = "steps it may take"},
	{"memory_bytes", PARAM_COUNT, false, 1 << 20, MEMORY_MAX_BYTES, .fallback = "268435456",
		.help = "memory of its values"},
};

#define FOUND_ROWS                                                                                 \
	{"diagnostics", PARAM_OBJECTS, NEEDED,                                                     \
		.help = "what is wrong: code, line, column, file, message, fix"},                  \
		MAY_GIVE("more", PARAM_COUNT, "diagnostics that are not listed"),                  \
		MAY_GIVE("denied", PARAM_COUNT, "calls that the policy denies"),                   \
		MAY_GIVE("asked", PARAM_COUNT, "calls that it would ask a person about"),          \
		MAY_GIVE("depends", PARAM_COUNT, "calls that depend on values not known yet"),     \
	{                                                                                          \
		"calls", PARAM_OBJECTS, .help = "each call, with the labels that reach it"         \
	}

static const struct param checked_rows[] = {
	{"status", PARAM_CHOICE, NEEDED, .choices = "ok|denied|invalid",
		.help = "whether it may run; invalid: it cannot be judged"},
	FOUND_ROWS,
};
static const struct param token_rows[] = {
	GIVES("model", PARAM_TEXT, "the model that answered"),
	GIVES("questions", PARAM_COUNT, "how often it was asked"),
	GIVES("input", PARAM_COUNT, "tokens it read"),
	GIVES("output", PARAM_COUNT, "tokens it wrote"),
	GIVES("is_estimated", PARAM_FLAG, "its server did not say: a token for every four bytes"),
};
static const struct param ran_rows[] = {
	{"status", PARAM_CHOICE, NEEDED, .choices = "ok|failed|denied|invalid|lost",
		.help = "how it ended; denied, invalid: perhaps before it began; lost: a server or "
			"the model gave no answer"},
	GIVES("stdout", PARAM_DATA, "what it printed"),
	MAY_GIVE("truncated", PARAM_FLAG, "it printed more than 1 MiB; the start is given"),
	{"tokens", PARAM_OBJECT, FIELDS(token_rows), .help = "what questions of ask() used"},
	FOUND_ROWS,
};

static const struct operation rows[] = {
	{"plan.check", "Prove a plan against a policy, without running it", ROWS(check_rows),
		RESULT(checked_rows), .label = OPERATION_CALLER,
		.limits = "Four plans at a time; others wait.",
		.errors = "auth|denied|limit|protocol|quota|unreachable",
		.example = "{'plan': 'print(1 + 2)\\n'}",
		.answer = "{'status': 'ok', 'denied': 0, 'calls': [], 'diagnostics': []}",
		.start = start_check},
	{"plan.run", "Check a plan and run it when nothing is denied", ROWS(run_rows),
		RESULT(ran_rows), .label = OPERATION_PROGRAM,
		.limits =
			"Four plans at a time; others wait. Nobody is there to be asked: what "
			"`approve` does not name is denied. Servers are the runner's, started for "
			"this plan and ended with it.",
		.errors = "auth|denied|limit|protocol|quota|unreachable",
		.example = "{'plan': 'print(1 + 2)\\n'}",
		.answer = "{'status': 'ok', 'stdout': '3\\n', 'diagnostics': []}",
		.start = start_run},
};

const struct operation_family plan_family = FAMILY(rows);
