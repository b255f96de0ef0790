/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plan_run.h"

#include "base/fd.h"
#include "plan/call.h"
#include "plan/check.h"
#include "plan/flow.h"
#include "plan/json.h"
#include "tool/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { LABELS_MAX_BYTES = 64 << 20, ANSWER_MAX_BYTES = 16 << 20, PLAN_MAX_BYTES = 16 << 20 };
static const char no_tools[] = "{\"tools\":{}}";

/* One run: everything of it. */
struct run {
	const struct plan_request *req;
	const char *plan, *policy_text, *tools_text, *request; /* texts; NULL: there is none */
	const char *name, *policy_name;
	struct program p;
	struct diags policy_diags;
	struct policy policy;
	struct ground ground;
	struct labels *labels;
	struct fixture *fixture;
	const struct tool_provider *tools;
	struct plan_record record;
	double *spent;
	struct buf *report, printed;
	json_int_t n_calls;
	bool is_approved; /* a person said yes to all that the check would ask */
	bool is_denied;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NO_MEMORY, "plan: no memory for the run");
}

/* Labels as a record has them. */
static json_t *set_json(const struct labels *all, uint32_t set)
{
	uint32_t atom;
	if (set == LABEL_ALL)
		return json_null();
	json_t *list = json_array();
	for (size_t i = 0; (atom = label_nth(all, set, i)); i++)
		(void)json_array_append_new(list, json_string(label_text(all, atom)));
	return list;
}

static json_t *label_json(const struct labels *all, uint32_t id)
{
	static const char *const kinds[] = {
		"const", "bool", "enum", "number", "date", "handle", "name", "text"};
	struct label l = label_get(all, id);
	return json_pack("{s:o, s:o, s:o, s:s}", "origins", set_json(all, l.origins), "readers",
		set_json(all, l.readers), "endorsements", set_json(all, l.endorsements), "kind",
		kinds[l.kind.rank]);
}

static int add_value(
	struct run *r, json_t *line, const char *name, const char *text, struct err *err)
{
	char digest[RECORD_DIGEST_BYTES];
	int rc = text ? run_record_value(&r->record, text, digest, err) : 0;
	if (rc == 0)
		(void)json_object_set_new(line, name, text ? json_string(digest) : json_null());
	return rc;
}

static int begin(struct run *r, struct err *err)
{
	const struct plan_request *req = r->req;
	json_t *line = json_pack("{s:s, s:i, s:b, s:b, s:I, s:I}", "event", "begin", "format", 1,
		"while", req->has_while, "recursion", req->has_recursion, "fuel",
		(json_int_t)req->fuel, "memory", (json_int_t)req->memory_bytes);
	if (!line)
		return no_memory(err);
	int rc = add_value(r, line, "plan", r->plan, err);
	rc = rc ? rc : add_value(r, line, "policy", r->policy_text, err);
	rc = rc ? rc : add_value(r, line, "tools", r->tools_text, err);
	rc = rc ? rc : add_value(r, line, "request", r->request, err);
	return rc ? (json_decref(line), rc) : run_record_line(&r->record, line, err);
}

static json_t *event(struct run *r, const char *what, const struct plan_call *call)
{
	uint32_t line, column;
	source_place(&r->p.src, call->at, &line, &column);
	return json_pack("{s:s, s:I, s:i, s:i, s:o}", "event", what, "n", r->n_calls, "line",
		(int)line, "column", (int)column, "guard", label_json(r->labels, call->guard));
}

static int print_out(void *ctx, const char *text, size_t bytes)
{
	struct run *r = ctx;
	if (buf_append(&r->printed, text, bytes) < 0)
		return -1;
	return r->req->print ? r->req->print(r->req->arg, text, bytes) : 0;
}

/* What came of it, from the record when it is there. Returns: enum tool_outcome, -1 with @err. */
static int outcome(struct run *r, const struct plan_call *call, const char *arguments,
	struct buf *out, struct err *err)
{
	json_t *next = run_record_next(&r->record);
	const char *what = json_string_value(json_object_get(next, "outcome"));
	const char *text =
		run_record_text(&r->record, json_string_value(json_object_get(next, "value")));
	int rc = TOOL_RESULT;
	if (what && !text)
		rc = err_set(err, ERR_DAMAGED, "plan: a value of the record is missing: line %zu",
			r->record.n_lines + 1);
	else if (what)
		rc = buf_add(out, text) < 0	     ? no_memory(err)
			: strcmp(what, "error") == 0 ? TOOL_ERROR
						     : TOOL_RESULT;
	else if (r->record.n_known > 0 && r->record.n_lines == r->record.n_known &&
		call->kind == CALL_TOOL && !call->tool->is_read_only)
		rc = err_set(err, ERR_DAMAGED,
			"plan: the record ends within the call of %.80s: whether it happened is not known",
			call->tool->name);
	else if (call->kind == CALL_TOOL)
		rc = r->tools->call(r->tools->ctx, call->tool, arguments, out, err);
	json_decref(next);
	return rc;
}

static int record_outcome(struct run *r, const struct buf *out, bool is_error, struct err *err)
{
	json_t *line = json_pack("{s:s, s:I, s:s}", "event", "result", "n", r->n_calls, "outcome",
		is_error ? "error" : "result");
	int rc = line ? add_value(r, line, "value", buf_str(out), err) : no_memory(err);
	return rc ? (json_decref(line), rc) : run_record_line(&r->record, line, err);
}

static int give(struct run *r, const struct plan_call *call, const struct buf *out, bool is_error)
{
	return is_error ? call_error(&r->p, call, &r->policy, buf_str(out), out->bytes)
			: call_answer(&r->p, call, &r->policy, buf_str(out), out->bytes);
}

/* Ask a person, or look up what they said. Returns: 1 yes, 0 no. */
static int person(struct run *r, const char *text)
{
	json_t *next = run_record_next(&r->record);
	const json_t *said = json_object_get(next, "yes");
	int yes = said		  ? json_is_true(said)
		: r->req->approve ? r->req->approve(r->req->arg, text)
				  : 0;
	json_decref(next);
	return yes;
}

static const char *const rulings[] = {"allow", "ask", "deny"};
static const char *const checks[] = {"rule", "when", "allow", "deny", "readers", "limit"};

static json_t *arguments_json(struct run *r, const struct plan_call *call, struct err *err, int *rc)
{
	json_t *all = json_object();
	for (uint32_t i = 0; i < call->tool->n_params && *rc == 0; i++) {
		struct text t = {.h = &r->p.heap};
		if (!call->arg[i].is_given)
			continue;
		json_t *one =
			json_pack("{s:o}", "label", label_json(r->labels, call->arg[i].label));
		*rc = json_write(&t, call->arg[i].value, &JSON_CANONICAL) < 0 ||
				text_add(&t, "", 1) < 0
			? no_memory(err)
			: add_value(r, one, "value", t.data, err);
		(void)json_object_set_new(all, call->tool->param[i].name, one);
		text_done(&t);
	}
	return all;
}

/* The ruling on a call, asked and recorded. Returns: it, or negative errno. */
static int rule_on(struct run *r, const struct plan_call *call, struct err *err)
{
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	const struct policy_call question = {
		.tool = call->tool, .arg = call->arg, .guard = call->guard, .spent = r->spent};
	size_t n = policy_decide(&r->policy, &question, answer);
	int ruling = policy_ruling(answer, n), rc = 0;
	json_t *line = event(r, "call", call), *open = json_array();
	char text[512];
	for (size_t i = 0; i < n; i++)
		if (answer[i].proof != POLICY_PROVED)
			(void)json_array_append_new(open, json_string(checks[answer[i].check]));
	(void)json_object_set_new(line, "tool", json_string(call->tool->name));
	(void)json_object_set_new(line, "arguments", arguments_json(r, call, err, &rc));
	(void)json_object_set_new(line, "ruling", json_string(rulings[ruling]));
	(void)json_object_set_new(line, "open", open);
	if (rc == 0 && ruling == POLICY_ASK) {
		(void)snprintf(text, sizeof text, "call %.200s?", call->tool->name);
		bool yes = r->is_approved ||
			(r->req->may_call && r->req->may_call(r->req->arg, call->tool->name)) ||
			person(r, text);
		(void)json_object_set_new(line, "yes", json_boolean(yes));
		ruling = yes ? POLICY_ALLOW : POLICY_DENY;
	}
	if (rc == 0 && ruling == POLICY_ALLOW)
		policy_spend(&r->policy, &question, r->spent);
	if (rc < 0) {
		json_decref(line);
		return rc;
	}
	rc = run_record_line(&r->record, line, err);
	return rc < 0 ? rc : ruling;
}

static int call_tool(struct run *r, const struct plan_call *call, struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(ANSWER_MAX_BYTES);
	struct text arguments;
	int rc = rule_on(r, call, err);
	if (rc < 0)
		return rc;
	if (rc == POLICY_DENY) {
		r->is_denied = true;
		return heap_fail_kind(&r->p.heap, FAIL_TOOL,
			       "the policy does not allow this call of %.100s", call->tool->name),
		       1;
	}
	if (call_arguments(&r->p, call, &arguments) < 0 || text_add(&arguments, "", 1) < 0)
		return 1;
	rc = outcome(r, call, arguments.data, &out, err);
	if (rc < 0)
		return rc;
	bool is_error = rc == TOOL_ERROR;
	rc = record_outcome(r, &out, is_error, err);
	return rc < 0 ? rc : give(r, call, &out, is_error) < 0;
}

static int call_ask(struct run *r, const struct plan_call *call, struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(ANSWER_MAX_BYTES);
	struct text data = {.h = &r->p.heap}, schema = {.h = &r->p.heap};
	json_t *line = event(r, "ask", call);
	if (!line || json_write(&data, call->value, &JSON_CANONICAL) < 0 ||
		text_add(&data, "", 1) < 0 ||
		json_write(&schema, call->schema, &JSON_CANONICAL) < 0 ||
		text_add(&schema, "", 1) < 0) {
		json_decref(line);
		return 1;
	}
	int rc = add_value(r, line, "question", call->text.str->data, err);
	rc = rc ? rc : add_value(r, line, "data", data.data, err);
	rc = rc ? rc : add_value(r, line, "schema", schema.data, err);
	rc = rc ? (json_decref(line), rc) : run_record_line(&r->record, line, err);
	if (rc < 0)
		return rc;
	bool is_known = r->record.n_lines < r->record.n_known;
	const struct tool_question q = {call->text.str->data, data.data, schema.data};
	rc = is_known ? outcome(r, call, "", &out, err)
		      : r->tools->ask(r->tools->ctx, &q, &out, err);
	if (rc < 0)
		return rc;
	bool is_error = rc == TOOL_ERROR;
	rc = record_outcome(r, &out, is_error, err);
	return rc < 0 ? rc : give(r, call, &out, is_error) < 0;
}

static int call_person(struct run *r, const struct plan_call *call, struct err *err)
{
	struct text t = {.h = &r->p.heap};
	json_t *line = event(r, "approve", call);
	int rc = line ? 0 : no_memory(err);
	if (rc == 0 &&
		(text_add(&t, call->text.str->data, call->text.str->n_bytes) < 0 ||
			text_puts(&t, "\n") < 0 ||
			json_write(&t, call->value, &JSON_CANONICAL) < 0 ||
			text_add(&t, "", 1) < 0))
		return json_decref(line), 1;
	bool yes = rc == 0 && person(r, t.data);
	rc = rc ? rc : add_value(r, line, "value", t.data, err);
	if (rc < 0)
		return json_decref(line), rc;
	(void)json_object_set_new(line, "yes", json_boolean(yes));
	rc = run_record_line(&r->record, line, err);
	if (rc < 0)
		return rc;
	r->is_denied |= !yes;
	if (!yes)
		return heap_fail_kind(&r->p.heap, FAIL_TOOL, "approve: a person said no"), 1;
	return call_yes(&r->p, call) < 0;
}

/* Answer what the machine waits for. Returns: 0, 1 the plan fails with it, negative errno. */
static int answer(struct run *r, struct err *err)
{
	struct plan_call call;
	r->n_calls++;
	if (call_read(&r->p, &call) < 0)
		return 1;
	return call.kind == CALL_TOOL	? call_tool(r, &call, err)
		: call.kind == CALL_ASK ? call_ask(r, &call, err)
					: call_person(r, &call, err);
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
	int rc = begin(r, err);
	if (rc < 0)
		return rc;
	enum vm_state state = program_run(&r->p, &host, &result);
	while (state == VM_CALLED) {
		rc = answer(r, err);
		if (rc < 0)
			return rc;
		state = rc ? program_fail(&r->p) : program_resume(&r->p, &result);
	}
	return end(r, state, err);
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
	int rc = fixture_read(r->tools_text, strlen(r->tools_text), "the file", &r->fixture, err);
	if (rc < 0)
		return rc;
	r->tools = fixture_provider(r->fixture);
	r->labels = labels_new(LABELS_MAX_BYTES);
	if (!r->labels)
		return no_memory(err);
	if (policy_parse(&r->policy, r->policy_text ? &policy : NULL, r->tools->tools, r->labels,
		    &r->policy_diags) < 0)
		return report_diags(r, &r->policy_diags, &policy) < 0 ? no_memory(err)
								      : PLAN_INVALID;
	r->spent = calloc(r->policy.n_limits + 1, sizeof *r->spent);
	if (!r->spent || ground_init(&r->ground, &r->policy.heap, r->request, &r->policy) < 0)
		return no_memory(err);
	(void)!getrandom(seed, sizeof seed, GRND_NONBLOCK);
	dialect.while_loops |= req->has_while;
	dialect.recursion |= req->has_recursion;
	limits.fuel = req->fuel ? req->fuel : limits.fuel;
	limits.bytes = req->memory_bytes ? (size_t)req->memory_bytes : limits.bytes;
	const struct program_setup setup = {.tools = r->tools->tools,
		.labels = r->labels,
		.literals = {.ctx = &r->ground, .label = of_literal},
		.quiet = quiet(r->labels)};
	if (program_load_with(&r->p, &src, &dialect, &limits, seed, &setup) < 0)
		return report_diags(r, &r->p.diags, &r->p.src) < 0 ? no_memory(err) : PLAN_INVALID;
	return 0;
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
	if (c.n_asked > 0 && r->req->approve && r->record.n_known == 0) {
		cleanup_buf struct buf text = BUF_INIT(1 << 20);
		if (check_text(&c, &text) < 0)
			return no_memory(err);
		r->is_approved = r->req->approve(r->req->arg, buf_str(&text));
		if (!r->is_approved)
			return buf_addf(r->report, "%sa person said no\n", buf_str(&text)) < 0
				? no_memory(err)
				: PLAN_DENIED;
	}
	return 0;
}

static int perform(struct run *r, struct err *err)
{
	r->printed = BUF_INIT(64 << 20);
	int rc = prepare(r, err);
	if (rc == 0)
		rc = check(r, err);
	if (rc == 0)
		rc = execute(r, err);
	if (rc == PLAN_FAILED || (rc == PLAN_DENIED && r->p.diags.n > 0))
		if (report_diags(r, &r->p.diags, &r->p.src) < 0)
			rc = no_memory(err);
	buf_done(&r->printed);
	program_done(&r->p);
	policy_done(&r->policy);
	labels_free(r->labels);
	fixture_free(r->fixture);
	free(r->spent);
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
	r->request = req->request;
	r->name = req->is_text ? "plan" : req->path;
	r->policy_name = req->is_text ? "policy" : req->policy_path;
	rc = req->resume_path ? run_record_load(&r->record, req->resume_path, true, err)
			      : run_record_open(&r->record, req->record_path, err);
	if (rc == 0)
		rc = perform(r, err);
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
