/*
 * Make one call of a running plan: decide, record, make the call, and resume the plan with the
 * result.
 *
 * The order matters. First the policy decides about the values of the call (rule_on()). If it says
 * "ask", a person is asked. The decision is recorded before the call is made, and the outcome
 * before the plan gets it, so a record that ends early shows which call may have been made.
 *
 * In a replay or resumed run, an outcome from the record replaces the call (known()). Each line
 * that the run would write is compared with the next line of the record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/inside.h"

#include "base/utf8.h"
#include "plan/builtin/json.h"

#include <stdio.h>
#include <string.h>

enum { ANSWER_MAX_BYTES = 16 << 20, WRONG_BYTES = 4096, PROMPT_MAX_BYTES = 1 << 20 };

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NO_MEMORY, "plan: no memory for the run");
}

/* Convert a set of atoms (texts such as the origins in a label) to a JSON array of strings. This
 * is the form in which the record of the run contains sets. LABEL_ALL, the set of all atoms,
 * becomes null. */
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

int run_add_value(struct run *r, json_t *line, const char *name, const char *text, struct err *err)
{
	char digest[DIGEST_BYTES];
	int rc = text ? run_record_value(&r->record, text, digest, err) : 0;
	if (rc == 0)
		(void)json_object_set_new(line, name, text ? json_string(digest) : json_null());
	return rc;
}

static json_t *event(struct run *r, const char *what, const struct plan_call *call)
{
	uint32_t line, column;
	source_place(&r->c.p.src, call->at, &line, &column);
	return json_pack("{s:s, s:I, s:i, s:i, s:o}", "event", what, "n", r->n_calls, "line",
		(int)line, "column", (int)column, "guard", label_json(r->c.labels, call->guard));
}

/* ---- getting the outcome of a call, and recording it ---- */

static const char *const outcomes[] = {[TOOL_RESULT] = "result",
	[TOOL_ERROR] = "error",
	[TOOL_UNSENT] = "unsent",
	[TOOL_LOST] = "lost"};
/* returned by known() if the next line of the record is not an outcome */
enum { NOTHING = ARRAY_LEN(outcomes) };

/* Read an outcome and its text from the next line of the record. Returns: enum tool_outcome;
 * NOTHING; negative errno. */
static int known(struct run *r, struct buf *out, struct err *err)
{
	json_t *next = run_record_next(&r->record);
	const char *word = json_string_value(json_object_get(next, "outcome"));
	const char *text =
		run_record_text(&r->record, json_string_value(json_object_get(next, "value")));
	int rc = word ? 0 : NOTHING;
	while (rc < NOTHING && strcmp(outcomes[rc], word) != 0)
		rc++;
	if (word && (!text || rc == NOTHING))
		rc = err_set(err, ERR_DAMAGED, "plan: a value of the record is missing at line %zu",
			r->record.n_lines + 1);
	else if (word && buf_add(out, text) < 0)
		rc = no_memory(err);
	json_decref(r->tokens);
	r->tokens = json_incref(json_object_get(next, "tokens"));
	json_decref(next);
	return rc;
}

static json_int_t member(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

static void add_spent(struct run *r)
{
	struct plan_spent *s = &r->asked;
	const char *model = json_string_value(json_object_get(r->tokens, "model"));
	s->n_questions += member(r->tokens, "questions");
	s->n_input += member(r->tokens, "input");
	s->n_output += member(r->tokens, "output");
	s->is_estimated |= json_is_true(json_object_get(r->tokens, "is_estimated"));
	if (model)
		snprintf(s->model, sizeof s->model, "%s", model);
}

static int record_outcome(struct run *r, int outcome, const struct buf *out, struct err *err)
{
	json_t *line = json_pack("{s:s, s:I, s:s, s:o*}", "event", "result", "n", r->n_calls,
		"outcome", outcomes[outcome], "tokens", r->tokens);
	if (line)
		add_spent(r);
	r->tokens = NULL;
	int rc = line ? run_add_value(r, line, "value", buf_str(out), err) : no_memory(err);
	return rc ? (json_decref(line), rc) : run_record_line(&r->record, line, err);
}

/* Add the usage of the model's last response to r->tokens. */
static void count_tokens(struct run *r)
{
	json_t *last = plan_tools_tokens(r->c.opened), *all = r->tokens;
	static const char *const sums[] = {"input", "output"};
	for (size_t i = 0; i < ARRAY_LEN(sums); i++)
		(void)json_object_set_new(
			last, sums[i], json_integer(member(last, sums[i]) + member(all, sums[i])));
	(void)json_object_set_new(last, "questions", json_integer(member(all, "questions") + 1));
	if (json_is_true(json_object_get(all, "is_estimated")))
		(void)json_object_set_new(last, "is_estimated", json_true());
	json_decref(all);
	r->tokens = last;
}

/* Ask the question @q. If a model answers and its answer does not fit the schema, ask the model
 * once more. If there is no model, the answer is a prepared one from the file of tools. If
 * that file is a list of servers, there is no answer, and the call fails. */
static int ask(struct run *r, const struct plan_call *call, struct tool_question *q,
	struct buf *out, struct err *err)
{
	bool has_model = plan_tools_has_model(r->c.opened);
	int rc = r->c.tools->ask(r->c.tools->ctx, q, out, err);
	if (has_model)
		count_tokens(r);
	if (!has_model || rc < 0 || rc > TOOL_ERROR)
		return rc;
	if (rc == TOOL_RESULT && call_fits(&r->c.p, call, buf_str(out), out->bytes) != 0)
		return TOOL_RESULT;
	cleanup_buf struct buf wrong = BUF_INIT(WRONG_BYTES);
	(void)buf_add(
		&wrong, rc == TOOL_ERROR ? buf_str(out) : "the answer does not fit the schema");
	buf_clear(out);
	q->wrong = buf_str(&wrong);
	rc = r->c.tools->ask(r->c.tools->ctx, q, out, err);
	count_tokens(r);
	return rc;
}

static uint32_t line_of(const struct run *r, const struct plan_call *call)
{
	uint32_t line, column;
	source_place(&r->c.p.src, call->at, &line, &column);
	return line;
}

static bool has_effect(const struct plan_call *call)
{
	return call->kind == CALL_TOOL && !call->tool->is_read_only;
}

/* Refuse to make @call. An earlier run recorded that it was about to make this call, but the
 * record ends before a result. So the call may have been made already, and making it again could
 * do its effect twice. Set @err. Returns: the error, which ends the run. */
static int refuse_unknown(const struct run *r, const struct plan_call *call, struct err *err)
{
	(void)err_set(err, ERR_DAMAGED,
		"plan: the record ends within the call of %.80s in line %u: whether it happened is not known",
		call->tool->name, line_of(r, call));
	return err_hint(err, "find out whether the call was made; --again makes it once more");
}

/* A call whose outcome is wanted. The outcome comes from the record or, if the record has none,
 * from making the call. */
struct wanted {
	const struct plan_call *call;
	const char *arguments; /* CALL_TOOL: the arguments as JSON */
	struct tool_question question;
};
static int outcome(struct run *r, struct wanted *w, struct buf *out, struct err *err)
{
	int last = TOOL_LOST, rc, done = 0;
	/* The record may contain outcomes of earlier attempts to make this call: the call was
	 * not sent, or its response was lost. Each such outcome ended a run, and the next run
	 * resumed the plan at the same call. Skip these outcomes. */
	while ((rc = known(r, out, err)) == TOOL_UNSENT || rc == TOOL_LOST) {
		last = rc;
		done = record_outcome(r, rc, out, err);
		if (done < 0)
			return done;
		buf_clear(out);
	}
	if (rc != NOTHING)
		return rc;
	bool is_cut = r->record.n_known > 0 && r->record.n_lines == r->record.n_known;
	if (is_cut && last == TOOL_LOST && has_effect(w->call) && !r->req->is_again)
		return refuse_unknown(r, w->call, err);
	return w->call->kind == CALL_TOOL
		? r->c.tools->call(r->c.tools->ctx, w->call->tool, w->arguments, out, err)
		: ask(r, w->call, &w->question, out, err);
}

/*
 * Handle a call that got no result, because it was not sent or its response was lost.
 * The plan gets an error and continues if all three conditions hold:
 * - The plan made the call with try_call().
 * - The call certainly had no effect.
 * - The call did not end because of an interruption (SIGINT, SIGTERM or a cancellation).
 * Otherwise the plan stops here, and its record can be resumed.
 * Returns: TOOL_ERROR if the plan gets an error; TOOL_LOST if the plan stops; negative errno.
 */
static int lose(
	struct run *r, const struct plan_call *call, int how, struct buf *out, struct err *err)
{
	struct err why = *err;
	bool is_stopped = why.code == ERR_INTERRUPTED;
	buf_clear(out);
	if (utf8_repair(out, why.msg, strlen(why.msg), NULL) < 0)
		return no_memory(err);
	if (call->is_try && !is_stopped && (how == TOOL_UNSENT || !has_effect(call)))
		return TOOL_ERROR;
	int rc = record_outcome(r, how, out, err);
	if (rc < 0)
		return rc;
	bool is_known = how == TOOL_UNSENT || !has_effect(call);
	r->lost = why;
	if (is_stopped)
		(void)err_set(&r->lost, ERR_INTERRUPTED,
			"plan: interrupted in the call of %.80s, line %u",
			call->tool ? call->tool->name : "ask", line_of(r, call));
	bool has_record = r->record_path || r->req->resume_path;
	if (!is_known)
		(void)err_hint(&r->lost, "whether %.80s was done is not known%s", call->tool->name,
			has_record
				? ": find out, then --resume the run, with --again to make the call once more"
				: "");
	else if (!why.hint[0])
		(void)err_hint(&r->lost, "the call changed nothing%s",
			has_record ? ": --resume continues from here" : "");
	(void)call_lost(&r->c.p, call, buf_str(out));
	return TOOL_LOST;
}

/* Store the result of a tool if the policy uses it for greatest(…) or least(…). This happens before
 * the plan gets the result. */
static int keep_listed(struct run *r, const struct plan_call *call, const struct buf *out)
{
	const struct policy_call asked = {.tool = call->tool, .arg = call->arg};
	struct val v;
	if (call->kind != CALL_TOOL || !policy_lists(&r->c.policy, &asked))
		return 0;
	return json_read(&r->c.p.heap, buf_str(out), out->bytes, &v) < 0
		? -1
		: policy_list(&r->c.listed, &r->c.policy, call->tool, &r->c.p.heap, v);
}

static int give(struct run *r, const struct plan_call *call, const struct buf *out, bool is_error)
{
	if (!is_error && keep_listed(r, call, out) < 0)
		return -1;
	return is_error ? call_error(&r->c.p, call, &r->c.policy, buf_str(out), out->bytes)
			: call_answer(&r->c.p, call, &r->c.policy, buf_str(out), out->bytes);
}

/* Get the outcome of a call, record it and give it to the plan. Returns: 0; 1 if the plan fails;
 * negative errno. */
static int finish(struct run *r, struct wanted *w, struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(ANSWER_MAX_BYTES);
	int rc = outcome(r, w, &out, err);
	if (rc == TOOL_UNSENT || rc == TOOL_LOST)
		rc = lose(r, w->call, rc, &out, err);
	if (rc < 0 || rc == TOOL_LOST)
		return rc < 0 ? rc : 1;
	bool is_error = rc == TOOL_ERROR;
	rc = record_outcome(r, rc, &out, err);
	return rc < 0 ? rc : give(r, w->call, &out, is_error) < 0;
}

/* ---- deciding about a call, and asking a person ---- */

/* Ask a person, or take the answer from the record. Returns: 1 for yes; 0 for no; -1 if nobody can
 * be asked. */
static int person(struct run *r, const char *text)
{
	json_t *next = run_record_next(&r->record);
	const json_t *known = json_object_get(next, "yes");
	int said = known	  ? json_is_true(known)
		: r->req->approve ? r->req->approve(r->req->arg, text)
				  : -1;
	json_decref(next);
	return said == 1 ? 1 : MIN(said, 0);
}

static const char *const rulings[] = {"allow", "ask", "deny"};
static const char *const checks[] = {"rule", "when", "allow", "deny", "readers", "limit"};

static json_t *arguments_json(struct run *r, const struct plan_call *call, struct err *err, int *rc)
{
	json_t *all = json_object();
	for (uint32_t i = 0; i < call->tool->n_params && *rc == 0; i++) {
		struct text t = {.h = &r->c.p.heap};
		if (!call->arg[i].is_given)
			continue;
		json_t *one =
			json_pack("{s:o}", "label", label_json(r->c.labels, call->arg[i].label));
		*rc = json_write(&t, call->arg[i].value, &JSON_CANONICAL) < 0 ||
				text_add(&t, "", 1) < 0
			? no_memory(err)
			: run_add_value(r, one, "value", t.data, err);
		(void)json_object_set_new(all, call->tool->param[i].name, one);
		text_done(&t);
	}
	return all;
}

/* Let the plan fail. The message of the failure names the first policy answer that is not
 * proved, and contains no values. r->refused gets an explanation with values, which only people
 * see. */
static void refuse(
	struct run *r, const struct plan_call *call, const struct policy_answer *answer, size_t n)
{
	static const char *const whats[] = {[CHECK_RULE] = "no rule allows it",
		[CHECK_WHEN] = "untrusted data decided that the tool is called",
		[CHECK_ALLOW] = "no rule allows this value of ",
		[CHECK_DENY] = "a rule denies this value of ",
		[CHECK_READERS] = "not everybody who gets it may read ",
		[CHECK_LIMIT] = "it exceeds the limit of a run for "};
	cleanup_buf struct buf why = BUF_INIT(REFUSED_MAX_BYTES - 1);
	size_t i = 0;
	while (i < n && answer[i].proof == POLICY_PROVED)
		i++;
	bool is_param = i < n && answer[i].check >= CHECK_ALLOW;
	const char *param = !is_param			 ? ""
		: answer[i].param < call->tool->n_params ? call->tool->param[answer[i].param].name
							 : "calls";
	(void)heap_fail_kind(&r->c.p.heap, FAIL_TOOL,
		"the policy does not allow this call of %.100s: %s%.80s", call->tool->name,
		i < n ? whats[answer[i].check] : "", param);
	(void)run_refusal(r, call, answer, n, &why);
	snprintf(r->refused, sizeof r->refused, "%s", buf_str(&why));
}

/* Ask a person about a call. Returns: POLICY_ALLOW; POLICY_DENY, with the failure of the plan
 * set. */
static int ask_about(struct run *r, const struct plan_call *call,
	const struct policy_answer *answer, size_t n, json_t *line)
{
	cleanup_buf struct buf text = BUF_INIT(PROMPT_MAX_BYTES);
	/* If the call is too large to be shown as a whole, nobody is asked. */
	bool is_shown = run_prompt_call(r, call, answer, n, &text) == 0;
	bool is_named = r->is_approved ||
		(r->req->may_call && r->req->may_call(r->req->arg, call->tool->name));
	int said = is_named ? 1 : is_shown ? person(r, buf_str(&text)) : -1;
	(void)json_object_set_new(line, "yes", json_boolean(said == 1));
	if (said == 1)
		return POLICY_ALLOW;
	if (said == 0)
		(void)heap_fail_kind(&r->c.p.heap, FAIL_TOOL,
			"a person said no to this call of %.100s", call->tool->name);
	else
		refuse(r, call, answer, n);
	return POLICY_DENY;
}

/* Decide about a call, ask a person if the policy says so, and record the decision. If the call is
 * denied, the plan fails. Returns: POLICY_ALLOW or POLICY_DENY; negative errno. */
static int rule_on(struct run *r, const struct plan_call *call, struct err *err)
{
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	const struct policy_call question = {.tool = call->tool,
		.arg = call->arg,
		.guard = call->guard,
		.spent = r->spent,
		.listed = &r->c.listed};
	size_t n = policy_decide(&r->c.policy, &question, answer);
	int ruling = policy_ruling(answer, n), rc = 0;
	json_t *line = event(r, "call", call), *open = json_array();
	for (size_t i = 0; i < n; i++)
		if (answer[i].proof != POLICY_PROVED)
			(void)json_array_append_new(open, json_string(checks[answer[i].check]));
	(void)json_object_set_new(line, "tool", json_string(call->tool->name));
	(void)json_object_set_new(line, "arguments", arguments_json(r, call, err, &rc));
	(void)json_object_set_new(line, "ruling", json_string(rulings[ruling]));
	(void)json_object_set_new(line, "open", open);
	if (rc == 0 && ruling == POLICY_ASK)
		ruling = ask_about(r, call, answer, n, line);
	else if (rc == 0 && ruling == POLICY_DENY)
		refuse(r, call, answer, n);
	if (rc == 0 && ruling == POLICY_ALLOW) {
		policy_spend(&r->c.policy, &question, r->spent);
		policy_change(&r->c.listed, &r->c.policy, call->tool);
	}
	if (rc < 0) {
		json_decref(line);
		return rc;
	}
	rc = run_record_line(&r->record, line, err);
	return rc < 0 ? rc : ruling;
}

/* ---- the three kinds of calls: a tool, ask(), approve() ---- */

static int call_tool(struct run *r, const struct plan_call *call, struct err *err)
{
	struct text arguments;
	/* If JSON cannot express a value, such as a set, the plan fails. */
	if (call_arguments(&r->c.p, call, &arguments) < 0 || text_add(&arguments, "", 1) < 0)
		return 1;
	int rc = rule_on(r, call, err);
	if (rc < 0)
		return rc;
	if (rc == POLICY_DENY) {
		r->is_denied = true;
		return 1;
	}
	struct wanted w = {.call = call, .arguments = arguments.data};
	return finish(r, &w, err);
}

static int call_ask(struct run *r, const struct plan_call *call, struct err *err)
{
	struct text data = {.h = &r->c.p.heap}, schema = {.h = &r->c.p.heap};
	json_t *line = event(r, "ask", call);
	if (!line || json_write(&data, call->value, &JSON_CANONICAL) < 0 ||
		text_add(&data, "", 1) < 0 ||
		json_write(&schema, call->schema, &JSON_CANONICAL) < 0 ||
		text_add(&schema, "", 1) < 0) {
		json_decref(line);
		return 1;
	}
	int rc = run_add_value(r, line, "question", call->text.str->data, err);
	rc = rc ? rc : run_add_value(r, line, "data", data.data, err);
	rc = rc ? rc : run_add_value(r, line, "schema", schema.data, err);
	rc = rc ? (json_decref(line), rc) : run_record_line(&r->record, line, err);
	if (rc < 0)
		return rc;
	struct wanted w = {
		.call = call, .question = {call->text.str->data, data.data, schema.data, NULL}};
	return finish(r, &w, err);
}

static int call_person(struct run *r, const struct plan_call *call, struct err *err)
{
	struct text t = {.h = &r->c.p.heap};
	json_t *line = event(r, "approve", call);
	int rc = line ? 0 : no_memory(err);
	if (rc == 0 &&
		(text_add(&t, call->text.str->data, call->text.str->n_bytes) < 0 ||
			text_puts(&t, "\n") < 0 ||
			json_write(&t, call->value, &JSON_CANONICAL) < 0 ||
			text_add(&t, "", 1) < 0))
		return json_decref(line), 1;
	cleanup_buf struct buf shown = BUF_INIT(PROMPT_MAX_BYTES);
	bool is_shown = rc == 0 && run_prompt_value(r, call, &shown) == 0;
	int said = is_shown ? person(r, buf_str(&shown)) : -1;
	bool yes = said == 1;
	rc = rc ? rc : run_add_value(r, line, "value", t.data, err);
	if (rc < 0)
		return json_decref(line), rc;
	(void)json_object_set_new(line, "yes", json_boolean(yes));
	rc = run_record_line(&r->record, line, err);
	if (rc < 0)
		return rc;
	r->is_denied |= !yes;
	if (!yes)
		return heap_fail_kind(&r->c.p.heap, FAIL_TOOL, "approve: %sa person said no",
			       said < 0 ? "nobody could be asked, which counts as if " : ""),
		       1;
	return call_yes(&r->c.p, call) < 0;
}

int run_answer(struct run *r, struct err *err)
{
	struct plan_call call;
	r->n_calls++;
	if (call_read(&r->c.p, &call) < 0)
		return 1;
	return call.kind == CALL_TOOL	? call_tool(r, &call, err)
		: call.kind == CALL_ASK ? call_ask(r, &call, err)
					: call_person(r, &call, err);
}
