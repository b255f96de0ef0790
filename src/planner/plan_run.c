/*
 * Run a plan with tools, or replay its record.
 *
 * prepare() opens the tools and compiles the plan (plan_case.c). check() checks every flow and asks
 * a person once about all open findings. execute() runs the machine; run_answer() (plan_call.c)
 * makes each call for which the machine waits. The record has a begin line with the digests of all
 * inputs, lines for each call, and an end line with the verdict. A record without an end line can
 * be resumed.
 *
 * plan_replay() takes plan, policy, tools and request from a record instead of files. With a new
 * policy, it reports whether the run would have differed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/inside.h"

#include "base/fd.h"
#include "plan/check/check.h"
#include "plan/machine/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char see_each[] =
	"A value that is not known yet can be anything from these sources: y approves all of it,\n"
	"s shows each call with its values when it is made, and asks then.\n";
static const char no_tools[] = "{\"tools\":{}}";

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NO_MEMORY, "plan: no memory for the run");
}

static int begin(struct run *r, struct err *err)
{
	const struct plan_request *req = r->req;
	json_t *line = json_pack("{s:s, s:i, s:b, s:b, s:I, s:I}", "event", "begin", "format", 1,
		"while", req->has_while, "recursion", req->has_recursion, "fuel",
		(json_int_t)req->fuel, "memory", (json_int_t)req->memory_bytes);
	if (!line)
		return no_memory(err);
	int rc = run_add_value(r, line, "plan", r->c.plan.text, err);
	rc = rc ? rc : run_add_value(r, line, "policy", r->c.policy_src.text, err);
	rc = rc ? rc : run_add_value(r, line, "tools", plan_tools_text(r->c.opened), err);
	rc = rc ? rc : run_add_value(r, line, "request", r->c.request, err);
	return rc ? (json_decref(line), rc) : run_record_line(&r->record, line, err);
}

static int print_out(void *ctx, const char *text, size_t bytes)
{
	struct run *r = ctx;
	if (buf_append(&r->printed, text, bytes) < 0)
		return -1;
	return r->req->print ? r->req->print(r->req->arg, text, bytes) : 0;
}

/* End a run in which a call got no result. The record gets no end line, so that the run can be
 * resumed later. */
static int cut(struct run *r, struct err *err)
{
	struct diags *all = &r->c.p.diags;
	if (r->lost.code == ERR_INTERRUPTED) {
		*err = r->lost;
		return -err_errno(err->code);
	}
	if (all->n > 0)
		snprintf(all->item[all->n - 1].hint, DIAG_HINT_BYTES, "%s", r->lost.hint);
	return r->lost.code == ERR_AUTH	    ? PLAN_NO_KEY
		: r->lost.code == ERR_USAGE ? PLAN_INVALID
					    : PLAN_LOST;
}

static int end(struct run *r, enum vm_state state, struct err *err)
{
	char printed[DIGEST_BYTES];
	int rc = run_record_value(&r->record, buf_str(&r->printed), printed, err);
	if (rc < 0)
		return rc;
	json_t *line = json_pack("{s:s, s:I, s:s, s:i, s:s}", "event", "end", "n", r->n_calls,
		"verdict",
		r->is_denied		   ? "denied"
			: state == VM_DONE ? "done"
					   : "failed",
		"code", r->c.p.diags.n > 0 ? r->c.p.diags.item[0].code : 0, "printed", printed);
	rc = line ? run_record_line(&r->record, line, err) : no_memory(err);
	if (rc < 0)
		return rc;
	return r->is_denied ? PLAN_DENIED : state == VM_DONE ? PLAN_OK : PLAN_FAILED;
}

static int execute(struct run *r, struct err *err)
{
	const struct vm_host host = {.ctx = r, .print = print_out};
	struct val result;
	int rc = 0;
	/* Create the record only after the check, so that a refused plan leaves no record. */
	if (r->record_path) {
		run_record_done(&r->record);
		rc = run_record_open(&r->record, r->record_path, err);
	}
	rc = rc ? rc : begin(r, err);
	if (rc < 0)
		return rc;
	enum vm_state state = program_run(&r->c.p, &host, &result);
	while (state == VM_CALLED) {
		rc = run_answer(r, err);
		if (rc < 0)
			return rc;
		state = rc ? program_fail(&r->c.p) : program_resume(&r->c.p, &result);
	}
	return r->lost.code == ERR_NONE ? end(r, state, err) : cut(r, err);
}

/* Open the tools and compile the plan. Returns: 0; PLAN_INVALID; negative errno. */
static int prepare(struct run *r, struct err *err)
{
	int rc = case_open(&r->c, err);
	if (rc == 0)
		rc = case_load(&r->c, err);
	if (rc == PLAN_INVALID && case_report(&r->c, r->report, r->req->is_json) < 0)
		return no_memory(err);
	if (rc != 0)
		return rc;
	r->spent = calloc(r->c.policy.n_limits + 1, sizeof *r->spent);
	return r->spent ? 0 : no_memory(err);
}

/* Show the open findings to a person and ask for approval. Returns: as check(). */
static int ask_person(struct run *r, struct check *c, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(1 << 20);
	if (check_text(c, &text) < 0)
		return no_memory(err);
	size_t n = text.bytes;
	if (r->req->can_see_each && buf_add(&text, see_each) < 0)
		return no_memory(err);
	int said = r->req->approve(r->req->arg, buf_str(&text));
	r->is_approved = said == 1;
	if (said > 0)
		return 0;
	const char *why = said < 0 ? "nobody could be asked: nothing was called"
				   : "a person said no: nothing was called";
	return buf_addf(r->report, "%.*s%s\n", (int)n, buf_str(&text), why) < 0 ? no_memory(err)
										: PLAN_DENIED;
}

/* Check the flows before the run. Returns: 0 if the plan may run; PLAN_DENIED; PLAN_INVALID;
 * negative errno. */
static int check(struct run *r, struct err *err)
{
	struct check *c = &r->c.check;
	int status = case_check(&r->c), rc;
	if (status != PLAN_OK) {
		rc = r->req->is_json		 ? check_json(c, r->report)
			: status == PLAN_INVALID ? case_report(&r->c, r->report, false)
						 : check_text(c, r->report);
		return rc < 0 ? no_memory(err) : status;
	}
	bool is_asked = c->n_asked > 0 && r->req->approve && r->record.n_known == 0;
	return is_asked ? ask_person(r, c, err) : 0;
}

static int perform(struct run *r, struct err *err)
{
	r->printed = BUF_INIT(64 << 20);
	int rc = prepare(r, err);
	if (rc == 0)
		rc = check(r, err);
	if (rc == 0)
		rc = execute(r, err);
	if (rc == PLAN_FAILED || r->lost.code != ERR_NONE ||
		(rc == PLAN_DENIED && r->c.p.diags.n > 0))
		if (rc >= 0 &&
			(case_report(&r->c, r->report, r->req->is_json) < 0 ||
				(!r->req->is_json && buf_add(r->report, r->refused) < 0)))
			rc = no_memory(err);
	buf_done(&r->printed);
	json_decref(r->tokens);
	free(r->spent);
	return rc;
}

/* Append how much the run has used the model in total. */
static int report_spent(const struct run *r)
{
	const struct plan_spent *s = &r->asked;
	if (s->n_questions == 0)
		return 0;
	if (!r->req->is_json)
		return buf_addf(r->report,
			"ask(): %lld question%s, %lld tokens read, %lld written%s (%s)\n",
			(long long)s->n_questions, s->n_questions == 1 ? "" : "s",
			(long long)s->n_input, (long long)s->n_output,
			s->is_estimated ? ", estimated" : "", s->model);
	json_t *all = json_loadb(buf_str(r->report), r->report->bytes, 0, NULL);
	all = all ? all : json_object();
	(void)json_object_set_new(all, "tokens",
		json_pack("{s:s, s:I, s:I, s:I, s:b}", "model", s->model, "questions",
			s->n_questions, "input", s->n_input, "output", s->n_output, "is_estimated",
			s->is_estimated));
	char *text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	buf_clear(r->report);
	int rc = text ? buf_addf(r->report, "%s\n", text) : -ENOMEM;
	free(text);
	return rc;
}

static void run_free(struct run *r)
{
	run_record_done(&r->record);
	case_done(&r->c);
	free(r);
}

int plan_run(const struct plan_request *req, struct buf *report, struct err *err)
{
	struct run *r = calloc(1, sizeof *r);
	if (!r)
		return no_memory(err);
	r->req = req;
	r->report = report;
	int rc = case_read(&r->c, req, err);
	r->c.tools_source = r->c.tools_source ? r->c.tools_source : no_tools;
	if (rc == 0)
		rc = req->resume_path ? run_record_load(&r->record, req->resume_path, true, err)
				      : run_record_open(&r->record, NULL, err);
	r->record_path = req->resume_path ? NULL : req->record_path;
	if (rc == 0)
		rc = perform(r, err);
	if (rc >= 0 && report_spent(r) < 0)
		rc = no_memory(err);
	run_free(r);
	return rc;
}

static const char *recorded(const struct run *r, const json_t *head, const char *name)
{
	return run_record_text(&r->record, json_string_value(json_object_get(head, name)));
}

static struct source recorded_source(const struct run *r, const json_t *head, const char *name)
{
	const char *text = recorded(r, head, name);
	return (struct source){"<record>", text, text ? strlen(text) : 0};
}

int plan_replay(const struct plan_request *req, struct buf *report, struct err *err)
{
	struct run *r = calloc(1, sizeof *r);
	if (!r)
		return no_memory(err);
	int rc = run_record_load(&r->record, req->path, false, err);
	json_t *head = rc == 0 ? run_record_next(&r->record) : NULL;
	struct plan_request again = *req, policy = *req;
	again.has_while = json_is_true(json_object_get(head, "while"));
	again.has_recursion = json_is_true(json_object_get(head, "recursion"));
	again.fuel = (uint64_t)json_integer_value(json_object_get(head, "fuel"));
	again.memory_bytes = (uint64_t)json_integer_value(json_object_get(head, "memory"));
	/* Only a new policy is read from a file. Everything else comes from the record. */
	policy.path = policy.tools_path = NULL;
	if (rc == 0)
		rc = case_read(&r->c, &policy, err);
	r->c.req = r->req = &again;
	r->report = report;
	r->c.plan = recorded_source(r, head, "plan");
	r->c.tools_source = recorded(r, head, "tools");
	r->c.request = recorded(r, head, "request");
	r->c.may_start = false;
	if (!req->policy_path)
		r->c.policy_src = recorded_source(r, head, "policy");
	r->record.is_loose = req->policy_path != NULL;
	if (rc == 0 && (!r->c.plan.text || !r->c.tools_source))
		rc = err_set(err, ERR_DAMAGED, "plan: some values of the record are missing");
	if (rc == 0)
		rc = perform(r, err);
	if (rc >= 0)
		(void)buf_addf(report, "%zu lines: %s\n", r->record.n_lines,
			r->record.has_differed ? "the run would differ" : "the run is the same");
	json_decref(head);
	run_free(r);
	return rc;
}
