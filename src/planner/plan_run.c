/* SPDX-License-Identifier: Apache-2.0 */
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

enum { LABELS_MAX_BYTES = 64 << 20, PLAN_MAX_BYTES = 16 << 20 };
static const char see_each[] =
	"What is not known yet is whatever comes from there: y agrees to all of it,\n"
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
	int rc = run_add_value(r, line, "plan", r->plan, err);
	rc = rc ? rc : run_add_value(r, line, "policy", r->policy_text, err);
	rc = rc ? rc : run_add_value(r, line, "tools", plan_tools_text(r->opened), err);
	rc = rc ? rc : run_add_value(r, line, "request", r->request, err);
	return rc ? (json_decref(line), rc) : run_record_line(&r->record, line, err);
}

static int print_out(void *ctx, const char *text, size_t bytes)
{
	struct run *r = ctx;
	if (buf_append(&r->printed, text, bytes) < 0)
		return -1;
	return r->req->print ? r->req->print(r->req->arg, text, bytes) : 0;
}

/* It was cut off: its record has no end, so that it can go on. */
static int cut(struct run *r, struct err *err)
{
	struct diags *all = &r->p.diags;
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
	char printed[RECORD_DIGEST_BYTES];
	int rc = run_record_value(&r->record, buf_str(&r->printed), printed, err);
	if (rc < 0)
		return rc;
	json_t *line =
		json_pack("{s:s, s:I, s:s, s:i, s:s}", "event", "end", "n", r->n_calls, "verdict",
			r->is_denied		   ? "denied"
				: state == VM_DONE ? "done"
						   : "failed",
			"code", r->p.diags.n > 0 ? r->p.diags.item[0].code : 0, "printed", printed);
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
	/* Only of what runs is there a record. */
	if (r->record_path) {
		run_record_done(&r->record);
		rc = run_record_open(&r->record, r->record_path, err);
	}
	rc = rc ? rc : begin(r, err);
	if (rc < 0)
		return rc;
	enum vm_state state = program_run(&r->p, &host, &result);
	while (state == VM_CALLED) {
		rc = run_answer(r, err);
		if (rc < 0)
			return rc;
		state = rc ? program_fail(&r->p) : program_resume(&r->p, &result);
	}
	return r->lost.code == ERR_NONE ? end(r, state, err) : cut(r, err);
}

static uint32_t of_literal(void *ctx, struct val literal)
{
	return ground_label(ctx, literal);
}

static uint32_t quiet(struct labels *all)
{
	static const char *const own[] = {"plan", "user", "policy"};
	uint32_t set = 0;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		set = label_union(
			all, set, label_set(all, label_atom(all, own[i], strlen(own[i]))));
	return set;
}

static int report_diags(struct run *r, const struct diags *diags, const struct source *src)
{
	return diags_report(r->report, src, diags, r->req->is_json);
}

/* Returns: 0, PLAN_INVALID, negative errno. */
static int prepare(struct run *r, struct err *err)
{
	const struct source src = {r->name, r->plan, strlen(r->plan)};
	const struct source policy = {
		r->policy_name, r->policy_text, r->policy_text ? strlen(r->policy_text) : 0};
	const struct plan_request *req = r->req;
	struct dialect dialect = DIALECT_PLAN;
	struct heap_limits limits = PROGRAM_LIMITS;
	uint64_t seed[2] = {0};
	const struct plan_tools_config tools = {.text = r->tools_text,
		.name = req->tools_name ? req->tools_name : "the file",
		.may_start = r->may_start,
		.has_signals = req->has_signals,
		.plan = r->plan,
		.policy = r->policy_text,
		.model = r->may_start ? req->model : NULL,
		.key_file = req->key_file,
		.stop = req->stop};
	int rc = plan_tools_open(&r->opened, &tools, err);
	if (rc < 0)
		return rc;
	r->tools = plan_tools_provider(r->opened);
	r->labels = labels_new(LABELS_MAX_BYTES);
	if (!r->labels)
		return no_memory(err);
	if (policy_parse(&r->policy, r->policy_text ? &policy : NULL, r->tools->tools, r->labels,
		    &r->policy_diags) < 0)
		return report_diags(r, &r->policy_diags, &policy) < 0 ? no_memory(err)
								      : PLAN_INVALID;
	r->spent = calloc(r->policy.n_limits + 1, sizeof *r->spent);
	struct heap *h = &r->policy.heap;
	if (!r->spent || ground_init(&r->ground, h, r->request, &r->policy) < 0 ||
		policy_listed_init(&r->listed, &r->policy, h, ground_says, &r->ground) < 0)
		return no_memory(err);
	(void)!getrandom(seed, sizeof seed, GRND_NONBLOCK);
	dialect.while_loops |= req->has_while;
	dialect.recursion |= req->has_recursion;
	limits.fuel = req->fuel ? req->fuel : limits.fuel;
	limits.bytes = req->memory_bytes ? (size_t)req->memory_bytes : limits.bytes;
	const struct program_setup setup = {.tools = r->tools->tools,
		.labels = r->labels,
		.literals = {.ctx = &r->ground, .label = of_literal, .numbers = r->ground.numbers},
		.quiet = quiet(r->labels)};
	bool is_loaded = program_load_with(&r->p, &src, &dialect, &limits, seed, &setup) == 0;
	if (!is_loaded && r->tools->tools->n == 0)
		plan_hint_tools(&r->p.diags, &r->p.src, req->is_text);
	if (!is_loaded)
		return report_diags(r, &r->p.diags, &r->p.src) < 0 ? no_memory(err) : PLAN_INVALID;
	return 0;
}

/* What is still open is shown to a person. Returns: as check(). */
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
	const char *why = said < 0 ? "nobody was there to ask: nothing was called"
				   : "a person said no: nothing was called";
	return buf_addf(r->report, "%.*s%s\n", (int)n, buf_str(&text), why) < 0 ? no_memory(err)
										: PLAN_DENIED;
}

/* What the check says before the run. Returns: 0 it may run, PLAN_DENIED, PLAN_INVALID, negative
 * errno. */
static int check(struct run *r, struct err *err)
{
	struct diags diags = {0};
	struct check c = {.heap = &r->p.heap,
		.src = r->p.src,
		.tree = r->p.tree,
		.policy = &r->policy,
		.request = r->request,
		.diags = &diags};
	int rc = check_plan(&c);
	r->p.checked = c.calls;
	r->p.n_checked = c.n_calls;
	int status = rc < 0 ? PLAN_INVALID : PLAN_DENIED;
	if (rc < 0 || c.n_denied > 0) {
		rc = r->req->is_json ? check_json(&c, r->report)
			: rc < 0     ? diags_report(r->report, &r->p.src, &diags, false)
				     : check_text(&c, r->report);
		return rc < 0 ? no_memory(err) : status;
	}
	bool is_asked = c.n_asked > 0 && r->req->approve && r->record.n_known == 0;
	return is_asked ? ask_person(r, &c, err) : 0;
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
		(rc == PLAN_DENIED && r->p.diags.n > 0))
		if (rc >= 0 &&
			(report_diags(r, &r->p.diags, &r->p.src) < 0 ||
				(!r->req->is_json && buf_add(r->report, r->refused) < 0)))
			rc = no_memory(err);
	buf_done(&r->printed);
	program_done(&r->p);
	policy_done(&r->policy);
	labels_free(r->labels);
	plan_tools_close(r->opened);
	json_decref(r->tokens);
	free(r->spent);
	return rc;
}

/* What questions to the model used. */
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

int plan_run(const struct plan_request *req, struct buf *report, struct err *err)
{
	cleanup_buf struct buf plan = BUF_INIT(PLAN_MAX_BYTES), policy = BUF_INIT(PLAN_MAX_BYTES),
			       tools = BUF_INIT(PLAN_MAX_BYTES);
	int rc = plan_take(req->path, req->is_text, &plan, err);
	rc = rc || !req->policy_path ? rc : plan_take(req->policy_path, req->is_text, &policy, err);
	rc = rc || !req->tools_path ? rc : plan_take(req->tools_path, req->is_text, &tools, err);
	if (rc < 0)
		return rc;
	struct run *r = calloc(1, sizeof *r);
	if (!r)
		return no_memory(err);
	r->req = req;
	r->report = report;
	r->plan = buf_str(&plan);
	r->policy_text = req->policy_path ? buf_str(&policy) : NULL;
	r->tools_text = req->tools_path ? buf_str(&tools) : no_tools;
	r->may_start = !req->is_text || req->may_start;
	r->request = req->request;
	r->name = req->is_text ? "plan" : req->path;
	r->policy_name = req->is_text ? "policy" : req->policy_path;
	rc = req->resume_path ? run_record_load(&r->record, req->resume_path, true, err)
			      : run_record_open(&r->record, NULL, err);
	r->record_path = req->resume_path ? NULL : req->record_path;
	if (rc == 0)
		rc = perform(r, err);
	if (rc >= 0 && report_spent(r) < 0)
		rc = no_memory(err);
	run_record_done(&r->record);
	free(r);
	return rc;
}

int plan_replay(const struct plan_request *req, struct buf *report, struct err *err)
{
	cleanup_buf struct buf policy = BUF_INIT(PLAN_MAX_BYTES);
	struct run *r = calloc(1, sizeof *r);
	if (!r)
		return no_memory(err);
	int rc = run_record_load(&r->record, req->path, false, err);
	json_t *head = rc == 0 ? run_record_next(&r->record) : NULL;
	struct plan_request again = *req;
	r->plan = run_record_text(&r->record, json_string_value(json_object_get(head, "plan")));
	r->tools_text =
		run_record_text(&r->record, json_string_value(json_object_get(head, "tools")));
	r->policy_text =
		run_record_text(&r->record, json_string_value(json_object_get(head, "policy")));
	r->request =
		run_record_text(&r->record, json_string_value(json_object_get(head, "request")));
	again.has_while = json_is_true(json_object_get(head, "while"));
	again.has_recursion = json_is_true(json_object_get(head, "recursion"));
	again.fuel = (uint64_t)json_integer_value(json_object_get(head, "fuel"));
	again.memory_bytes = (uint64_t)json_integer_value(json_object_get(head, "memory"));
	if (rc == 0 && (!r->plan || !r->tools_text))
		rc = err_set(err, ERR_DAMAGED, "plan: the values of the record are not all there");
	if (rc == 0 && req->policy_path)
		rc = plan_read(req->policy_path, &policy, err);
	if (rc == 0) {
		r->req = &again;
		r->report = report;
		r->name = "<record>";
		r->policy_name = req->policy_path ? req->policy_path : "<record>";
		r->policy_text = req->policy_path ? buf_str(&policy) : r->policy_text;
		r->record.is_loose = req->policy_path != NULL;
		rc = perform(r, err);
		if (rc >= 0)
			(void)buf_addf(report, "%zu lines: %s\n", r->record.n_lines,
				r->record.has_differed ? "the run would differ" : "the same");
	}
	json_decref(head);
	run_record_done(&r->record);
	free(r);
	return rc;
}
