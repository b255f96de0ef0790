/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan_check.h"

#include "plan/check/check_print.h"
#include "plan/program/program.h"
#include "planner/plan_tools.h"

#include <stdlib.h>
#include <string.h>

enum {
	FILE_MAX_BYTES = 16 << 20,
	REPORT_MAX_BYTES = 16 << 20,
	LABELS_MAX_BYTES = 64 << 20,
};

/* Three files and what is made of them. */
struct judging {
	struct buf plan_text, policy_text, tools_text;
	struct source plan, policy_src;
	struct plan_tools *opened;
	const struct tool_set *tools;
	struct labels *labels;
	struct policy policy;
	struct diags policy_diags, diags;
	struct heap heap;
	struct node *tree;
	struct check check;
};

static void judging_free(struct judging *j)
{
	policy_done(&j->policy);
	heap_done(&j->heap);
	labels_free(j->labels);
	plan_tools_close(j->opened);
	buf_done(&j->plan_text);
	buf_done(&j->policy_text);
	buf_done(&j->tools_text);
	free(j);
}

static int read_tools(struct judging *j, const struct plan_check_request *req, struct err *err)
{
	const char *path = req->tools;
	if (!path) {
		(void)err_set(err, ERR_USAGE, "plan: it is not said which tools there are");
		return err_hint(err, "--tools FILE: their names, parameters and schemas");
	}
	int r = plan_take(path, req->is_text, &j->tools_text, err);
	/* Which servers are started depends on what they name. */
	if (r == 0 && req->policy)
		r = plan_take(req->policy, req->is_text, &j->policy_text, err);
	if (r == 0 && req->plan)
		r = plan_take(req->plan, req->is_text, &j->plan_text, err);
	if (r < 0)
		return r;
	const struct plan_tools_config config = {.text = buf_str(&j->tools_text),
		.name = req->tools_name ? req->tools_name
			: req->is_text	? "tools"
					: path,
		.may_start = !req->is_text || req->may_start,
		.has_signals = req->has_signals,
		.plan = req->plan ? buf_str(&j->plan_text) : NULL,
		.policy = req->policy ? buf_str(&j->policy_text) : NULL,
		.stop = req->stop};
	r = plan_tools_open(&j->opened, &config, err);
	if (r == 0)
		j->tools = plan_tools_provider(j->opened)->tools;
	return r;
}

static struct source source_of(const char *path, const struct buf *text)
{
	return (struct source){
		strcmp(path, "-") == 0 ? "<stdin>" : path, buf_str(text), text->bytes};
}

/* Returns: 0, PLAN_INVALID with diagnostics, negative errno. */
static int read_policy(struct judging *j, const struct plan_check_request *req, struct err *err)
{
	const char *path = req->policy;
	if (path)
		j->policy_src = source_of(req->is_text ? "policy" : path, &j->policy_text);
	j->labels = labels_new(LABELS_MAX_BYTES);
	if (!j->labels)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for labels");
	return policy_parse(&j->policy, path ? &j->policy_src : NULL, j->tools, j->labels,
		       &j->policy_diags) < 0
		? PLAN_INVALID
		: 0;
}

static int read_plan(struct judging *j, const struct plan_check_request *req, struct err *err)
{
	static const struct heap_limits limits = {
		.fuel = UINT64_C(1) << 32, .bytes = (size_t)256 << 20, .depth = 1000};
	const uint64_t seed[2] = {0};
	struct dialect dialect = DIALECT_PLAN;
	dialect.while_loops = req->has_while;
	j->plan = source_of(req->is_text ? "plan" : req->plan, &j->plan_text);
	heap_init(&j->heap, &limits, seed);
	struct predeclared *names;
	int n = program_names(&j->heap, &dialect, j->tools, &names);
	if (n < 0)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for names");
	if (tree_parse(&j->heap, &j->plan, &dialect, &j->diags, &j->tree) < 0 ||
		tree_resolve(&j->heap, &j->plan, &dialect, names, (size_t)n, &j->diags, j->tree) <
			0) {
		if (j->tools->n == 0)
			plan_hint_tools(&j->diags, &j->plan, req->is_text);
		return PLAN_INVALID;
	}
	return 0;
}

static int report_diags(struct buf *report, const struct source *src, const struct diags *all)
{
	int r = 0;
	for (size_t i = 0; i < all->n && r == 0; i++)
		r = diag_text(report, src, &all->item[i]);
	return r == 0 && all->n_all > all->n
		? buf_addf(report, "… and %zu more\n", all->n_all - all->n)
		: r;
}

/* One object in any case: of what the checker found, or of what kept it from looking. */
static int report_json(const struct judging *j, struct buf *report, int status)
{
	bool is_policy = j->policy_diags.n > 0;
	if (status != PLAN_INVALID)
		return check_json(&j->check, report);
	int r = buf_add(report, "{\"ok\": false, \"diagnostics\": ");
	if (r == 0)
		r = diags_json(report, is_policy ? &j->policy_src : &j->plan,
			is_policy ? &j->policy_diags : &j->diags);
	return r == 0 ? buf_add(report, "}\n") : r;
}

/* What somebody signs: how many calls, and what of them is open. */
static int add_summary(const struct check *c, struct buf *out)
{
	uint32_t n_open = 0, n_proved = 0, n_asked = 0;
	for (uint32_t i = 0; i < c->n_calls; i++) {
		bool is_proved = true;
		for (uint32_t k = 0; k < c->calls[i]->n_findings; k++) {
			const struct policy_answer *a = &c->calls[i]->finding[k].answer;
			/* A limit is only known at the call. */
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

static int report_text(const struct judging *j, const struct plan_check_request *req,
	struct buf *report, int status)
{
	int r = report_diags(report, &j->policy_src, &j->policy_diags);
	if (r == 0)
		r = report_diags(report, &j->plan, &j->diags);
	if (r == 0 && status != PLAN_INVALID && !req->policy)
		r = buf_add(report, "no policy: what the tools say of themselves decides\n");
	if (r == 0 && status != PLAN_INVALID && req->output == PLAN_EXPLAIN)
		r = check_explain(&j->check, report);
	if (r == 0 && status != PLAN_INVALID)
		r = check_text(&j->check, report);
	return r == 0 && status == PLAN_OK ? add_summary(&j->check, report) : r;
}

static int judge(struct judging *j, const struct plan_check_request *req, struct err *err)
{
	int r = read_tools(j, req, err);
	if (r == 0)
		r = read_policy(j, req, err);
	if (r == 0)
		r = read_plan(j, req, err);
	if (r != 0)
		return r;
	j->check = (struct check){.heap = &j->heap,
		.src = j->plan,
		.tree = j->tree,
		.policy = &j->policy,
		.request = req->request,
		.diags = &j->diags,
		.has_margin = req->output == PLAN_EXPLAIN};
	return check_plan(&j->check) < 0 ? PLAN_INVALID
		: j->check.n_denied > 0	 ? PLAN_DENIED
					 : PLAN_OK;
}

static int judging_new(struct judging **out, struct err *err)
{
	struct judging *j = calloc(1, sizeof *j);
	if (!j)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for it");
	j->plan_text = j->policy_text = j->tools_text = BUF_INIT(FILE_MAX_BYTES + (1 << 17));
	*out = j;
	return 0;
}

int plan_check(const struct plan_check_request *req, struct buf *report, struct err *err)
{
	struct judging *j;
	*report = BUF_INIT(REPORT_MAX_BYTES);
	int r = judging_new(&j, err);
	if (r < 0)
		return r;
	int status = judge(j, req, err);
	if (status >= 0)
		r = req->output == PLAN_JSON ? report_json(j, report, status)
					     : report_text(j, req, report, status);
	judging_free(j);
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "plan: no memory for the report") : status;
}

int plan_policy_check(const char *name, const struct buf *text, struct err *err)
{
	enum { SYNTAX_FIRST = 100, SYNTAX_LAST = 199 };
	const struct tool_set none = {0};
	struct judging *j;
	int r = judging_new(&j, err);
	if (r < 0)
		return r;
	j->policy_src = source_of(name, text);
	j->labels = labels_new(LABELS_MAX_BYTES);
	if (!j->labels)
		r = err_set(err, ERR_NO_MEMORY, "plan: no memory for labels");
	else
		(void)policy_parse(&j->policy, &j->policy_src, &none, j->labels, &j->policy_diags);
	for (size_t i = 0; r == 0 && i < j->policy_diags.n; i++) {
		const struct diag *d = &j->policy_diags.item[i];
		if (d->code < SYNTAX_FIRST || d->code > SYNTAX_LAST)
			continue;
		r = err_set(err, ERR_USAGE, "policy: %.100s:%u:%u: P%d: %.100s", name, d->line,
			d->column, d->code, d->msg);
		err_hint(err, "`retort plan test --policy FILE` shows all that is wrong");
	}
	judging_free(j);
	return r;
}

int plan_test(const struct plan_check_request *req, struct buf *report, struct err *err)
{
	struct judging *j;
	size_t n_run = 0, n_failed = 0;
	*report = BUF_INIT(REPORT_MAX_BYTES);
	int r = judging_new(&j, err);
	if (r < 0)
		return r;
	int status = read_tools(j, req, err);
	if (status == 0)
		status = read_policy(j, req, err);
	if (status == 0)
		n_failed = policy_test(&j->policy, &j->policy_diags, &n_run);
	if (status >= 0 && req->output == PLAN_JSON) {
		r = buf_addf(report,
			"{\"ok\": %s, \"tests\": %zu, \"failed\": %zu, \"diagnostics\": ",
			status == 0 && n_failed == 0 ? "true" : "false", n_run, n_failed);
		if (r == 0)
			r = diags_json(report, &j->policy_src, &j->policy_diags);
		if (r == 0)
			r = buf_add(report, "}\n");
	} else if (status >= 0) {
		r = report_diags(report, &j->policy_src, &j->policy_diags);
		if (r == 0 && status == 0)
			r = buf_addf(report, "%zu tests, %zu failed\n", n_run, n_failed);
	}
	judging_free(j);
	if (r < 0)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the report");
	return status == 0 && n_failed > 0 ? PLAN_FAILED : status;
}
