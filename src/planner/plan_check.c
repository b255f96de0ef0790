/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_check.h"

#include "plan/check/check_print.h"
#include "planner/plan_case.h"

#include <stdlib.h>

enum { REPORT_MAX_BYTES = 16 << 20, LABELS_MAX_BYTES = 64 << 20 };

/* Append one JSON object: the findings, or the diagnostics if the check could not begin. */
static int report_json(const struct plan_case *c, struct buf *report, int status)
{
	bool is_policy = c->policy_diags.n > 0;
	if (status != PLAN_INVALID)
		return check_json(&c->check, report);
	int r = buf_add(report, "{\"ok\": false, \"diagnostics\": ");
	if (r == 0)
		r = diags_json(report, is_policy ? &c->policy_src : &c->plan,
			is_policy ? &c->policy_diags : &c->p.diags);
	return r == 0 ? buf_add(report, "}\n") : r;
}

/* Append a summary for the person who approves the plan: how many calls it has, how many are proved
 * and how many are open. */
static int add_summary(const struct check *c, struct buf *out)
{
	uint32_t n_open = 0, n_proved = 0, n_asked = 0;
	for (uint32_t i = 0; i < c->n_calls; i++) {
		bool is_proved = true;
		for (uint32_t k = 0; k < c->calls[i]->n_findings; k++) {
			const struct policy_answer *a = &c->calls[i]->finding[k].answer;
			/* A call is open if the check could not prove that the policy allows it.
			 * But whether a limit of the policy is kept, such as a number of calls
			 * per run, is only known during the run. So for a limit, the answer
			 * POLICY_DEPENDS does not make the call open. */
			bool is_open = a->proof == POLICY_REFUTED ||
				(a->proof == POLICY_DEPENDS && a->check != CHECK_LIMIT);
			n_asked += is_open && a->otherwise == POLICY_ASK;
			is_proved &= !is_open;
		}
		n_proved += is_proved;
		n_open += !is_proved;
	}
	int r = buf_addf(out, "%u call%s, ", c->n_calls, c->n_calls == 1 ? "" : "s");
	if (r == 0 && n_open == 0)
		r = buf_add(out, "all proved");
	else if (r == 0)
		r = buf_addf(out, "%u proved, %u open", n_proved, n_open);
	return r ? r
		 : buf_addf(out, "; %s%u approval%s\n", n_asked > c->n_asked ? "at most " : "",
			   n_asked, n_asked == 1 ? "" : "s");
}

static int report_text(const struct plan_case *c, struct buf *report, int status)
{
	int r = case_report(c, report, false);
	if (r < 0 || status == PLAN_INVALID || !c->tools)
		return r;
	if (!c->policy_src.text)
		r = buf_add(report, "no policy: the annotations of the tools decide\n");
	if (r == 0 && c->req->is_explained)
		r = check_explain(&c->check, report);
	if (r == 0)
		r = check_text(&c->check, report);
	return r == 0 && status == PLAN_OK ? add_summary(&c->check, report) : r;
}

static int needs_tools(struct err *err)
{
	(void)err_set(err, ERR_USAGE, "plan: the list of tools is missing");
	return err_hint(err, "name a file with the tools and their schemas: --tools FILE");
}

/* Return whether the request needs the tools, because it asks for more than a check of syntax and
 * names. */
static bool has_flows(const struct plan_request *req)
{
	return case_has_flows(req) || req->request || req->is_json || req->is_explained;
}

static int judge(struct plan_case *c, const struct plan_request *req, struct err *err)
{
	bool is_whole = has_flows(req);
	if (is_whole && !req->tools_path)
		return needs_tools(err);
	int r = case_read(c, req, err);
	if (r == 0 && is_whole)
		r = case_open(c, err);
	if (r == 0)
		r = case_load(c, err);
	return r == 0 && is_whole ? case_check(c) : r;
}

static int case_new(struct plan_case **out, struct err *err)
{
	*out = calloc(1, sizeof **out);
	return *out ? 0 : err_set(err, ERR_NO_MEMORY, "plan: no memory for the plan");
}

int plan_check(const struct plan_request *req, struct buf *report, struct err *err)
{
	struct plan_case *c;
	*report = BUF_INIT(REPORT_MAX_BYTES);
	int r = case_new(&c, err);
	if (r < 0)
		return r;
	int status = judge(c, req, err);
	if (status >= 0)
		r = req->is_json ? report_json(c, report, status) : report_text(c, report, status);
	case_done(c);
	free(c);
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "plan: no memory for the report") : status;
}

int plan_policy_check(const char *name, const struct buf *text, struct err *err)
{
	enum { SYNTAX_FIRST = 100, SYNTAX_LAST = 199 };
	const struct tool_set none = {0};
	const struct source src = {name, buf_str(text), text->bytes};
	struct plan_case *c;
	int r = case_new(&c, err);
	if (r < 0)
		return r;
	c->labels = labels_new(LABELS_MAX_BYTES);
	if (!c->labels)
		r = err_set(err, ERR_NO_MEMORY, "plan: no memory for labels");
	else
		(void)policy_parse(&c->policy, &src, &none, c->labels, &c->policy_diags);
	for (size_t i = 0; r == 0 && i < c->policy_diags.n; i++) {
		const struct diag *d = &c->policy_diags.item[i];
		if (d->code < SYNTAX_FIRST || d->code > SYNTAX_LAST)
			continue;
		r = err_set(err, ERR_USAGE, "policy: %.100s:%u:%u: P%d: %.100s", name, d->line,
			d->column, d->code, d->msg);
		err_hint(err,
			"`retort plan test POLICY --tools FILE` shows all mistakes of a policy");
	}
	case_done(c);
	free(c);
	return r;
}

static int report_tests(
	const struct plan_case *c, struct buf *report, int status, size_t n_run, size_t n_failed)
{
	int r;
	if (!c->req->is_json) {
		r = case_report(c, report, false);
		return r == 0 && status == 0
			? buf_addf(report, "%zu tests, %zu failed\n", n_run, n_failed)
			: r;
	}
	r = buf_addf(report, "{\"ok\": %s, \"tests\": %zu, \"failed\": %zu, \"diagnostics\": ",
		status == 0 && n_failed == 0 ? "true" : "false", n_run, n_failed);
	if (r == 0)
		r = diags_json(report, &c->policy_src, &c->policy_diags);
	return r == 0 ? buf_add(report, "}\n") : r;
}

int plan_test(const struct plan_request *req, struct buf *report, struct err *err)
{
	struct plan_case *c;
	size_t n_run = 0, n_failed = 0;
	*report = BUF_INIT(REPORT_MAX_BYTES);
	if (!req->tools_path)
		return needs_tools(err);
	int r = case_new(&c, err);
	if (r < 0)
		return r;
	c->is_policy_operand = true;
	int status = case_read(c, req, err);
	if (status == 0)
		status = case_open(c, err);
	if (status == 0)
		n_failed = policy_test(&c->policy, &c->policy_diags, &n_run);
	if (status >= 0)
		r = report_tests(c, report, status, n_run, n_failed);
	case_done(c);
	free(c);
	if (r < 0)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the report");
	return status == 0 && n_failed > 0 ? PLAN_FAILED : status;
}
