/* Print the findings of the check as text for people. SPDX-License-Identifier: Apache-2.0 */
#include "plan/check/check_print.h"

#include "base/utf8.h"

#include <string.h>

enum { LINE_MAX_BYTES = 160, LIST_MAX = 6 };

int print_atoms(struct buf *out, const struct labels *labels, uint32_t set, const char *all)
{
	uint32_t atom;
	if (set == LABEL_ALL)
		return buf_add(out, all);
	int r = 0;
	for (size_t i = 0; r == 0 && (atom = label_nth(labels, set, i)); i++) {
		const char *text = label_text(labels, atom);
		if (i == LIST_MAX)
			return buf_add(out, ", …");
		r = i ? buf_add(out, ", ") : 0;
		if (r == 0)
			r = utf8_escape_terminal(out, text, strlen(text), UTF8_ONE_LINE);
	}
	return r;
}

const char *kind_text(enum label_kind rank)
{
	static const char *const texts[] = {[KIND_CONST] = "const",
		[KIND_BOOL] = "bool",
		[KIND_ENUM] = "enum",
		[KIND_NUMBER] = "number",
		[KIND_DATE] = "date",
		[KIND_HANDLE] = "handle",
		[KIND_NAME] = "name",
		[KIND_TEXT] = "text"};
	return texts[rank];
}

/* Append a label, such as "tool:web.get, user; text; for ann@example.com; approved". */
int print_label(struct buf *out, const struct labels *labels, uint32_t id)
{
	if (id == LABEL_FAILED)
		return buf_add(out, "unknown");
	struct label l = label_get(labels, id);
	int r = l.origins ? print_atoms(out, labels, l.origins, "anything")
			  : buf_add(out, "constant");
	if (r == 0 && l.origins)
		r = buf_addf(out, "; %s", kind_text(l.kind.rank));
	if (r == 0 && l.readers != LABEL_ALL) {
		r = buf_add(out, l.readers ? "; for " : "; readers known when it runs");
		if (r == 0)
			r = print_atoms(out, labels, l.readers, "");
	}
	if (r == 0 && l.endorsements != 0 && l.endorsements != LABEL_ALL) {
		r = buf_add(out, "; ");
		if (r == 0)
			r = print_atoms(out, labels, l.endorsements, "");
	}
	return r;
}

static int print_step(struct buf *out, const struct check *c, const struct witness_step *s)
{
	static const char *const texts[] = {[STEP_SOURCE] = "source: ",
		[STEP_THROUGH] = "through ",
		[STEP_GUARD] = "condition: ",
		[STEP_SINK] = "sink: "};
	/* Underline the sink with ^, and every other step with -. */
	int r = source_show(out, &c->src, s->start, s->end, s->kind == STEP_SINK ? '^' : '-');
	if (r == 0)
		r = buf_addf(out, " %s", texts[s->kind]);
	if (r == 0 && s->kind == STEP_SINK)
		r = buf_add(out, s->tool);
	else if (r == 0 && s->kind == STEP_THROUGH && s->tool)
		r = buf_addf(out, "%s, ", s->tool);
	if (r == 0 && s->kind != STEP_SINK)
		r = print_label(out, c->policy->labels, s->label);
	return r == 0 ? buf_add(out, "\n") : r;
}

int finding_code(const struct finding *f)
{
	static const int codes[] = {[CHECK_RULE] = P_NO_RULE,
		[CHECK_WHEN] = P_GUARD,
		[CHECK_ALLOW] = P_FLOW,
		[CHECK_DENY] = P_FLOW,
		[CHECK_READERS] = P_READERS,
		[CHECK_LIMIT] = P_OVER_LIMIT};
	return codes[f->answer.check];
}

int finding_message(struct buf *out, const struct check_call *call, const struct finding *f)
{
	static const char *const texts[] = {[CHECK_RULE] = "no rule allows",
		[CHECK_WHEN] = "untrusted data decides whether this is called:",
		[CHECK_ALLOW] = "untrusted data reaches",
		[CHECK_DENY] = "a value that is denied reaches",
		[CHECK_READERS] = "data with restricted readers reaches",
		[CHECK_LIMIT] = "the limit per run is exceeded by"};
	bool is_param = f->answer.check >= CHECK_ALLOW && f->answer.param < call->tool->n_params;
	bool is_literal = f->answer.check == CHECK_ALLOW && f->n_path > 1 && !f->path[0].tool &&
		f->path[0].kind == STEP_SOURCE;
	return buf_addf(out, "%s %s%s%s",
		is_literal ? "a literal that is not in the request reaches"
			   : texts[f->answer.check],
		call->tool->name, is_param ? "." : "",
		is_param ? call->tool->param[f->answer.param].name : "");
}

static const struct rule *rule_of(const struct check *c, const struct check_call *call)
{
	return c->policy->rule[call->tool - c->policy->tools->tool];
}

/* Append the clauses as they are written in the policy. If they are not written there, append
 * "trusted", the default. */
int print_clauses(struct buf *out, const struct policy *p, const struct clauses *all)
{
	const struct source *src = &p->src;
	if (!src->text || all->end <= all->start || all->n == 0 || !all->item[0].end)
		return buf_add(out, "trusted");
	size_t bytes = utf8_cut(src->text + all->start, all->end - all->start, LINE_MAX_BYTES);
	return utf8_escape_terminal(out, src->text + all->start, bytes, UTF8_ONE_LINE);
}

static int print_why(struct buf *out, const struct check *c, const struct check_call *call,
	const struct finding *f)
{
	const struct rule *rule = rule_of(c, call);
	uint32_t line, column;
	const char *param = f->answer.param < call->tool->n_params
		? call->tool->param[f->answer.param].name
		: "calls";
	if (!rule)
		return buf_addf(out, "  why: the policy has no rule for %s\n", call->tool->name);
	if (!c->policy->src.text)
		return buf_addf(out,
			"  why: there is no policy, and %s is not annotated as read-only\n",
			call->tool->name);
	const struct param_rule *one = &rule->param[MIN(f->answer.param, call->tool->n_params)];
	int r = buf_add(out, "  why: ");
	if (r == 0 && f->answer.check == CHECK_READERS)
		r = buf_addf(out, "each of %s has to be among its readers",
			call->tool->param[one->covers].name);
	else if (r == 0 && f->answer.check == CHECK_LIMIT)
		r = buf_addf(out, "the rule limits %s", param);
	else if (r == 0)
		r = buf_add(out,
			f->answer.check == CHECK_DENY ? "the rule denies " : "the rule allows ");
	if (r == 0 && f->answer.check < CHECK_READERS)
		r = print_clauses(out, c->policy,
			f->answer.check == CHECK_WHEN		? &rule->when
				: f->answer.check == CHECK_DENY ? &one->deny
								: &one->allow);
	if (r == 0 && c->policy->src.text) {
		source_place(&c->policy->src, f->answer.at, &line, &column);
		r = buf_addf(out, " (%s:%u)", c->policy->src.name, line);
	}
	return r == 0 ? buf_add(out, "\n") : r;
}

static bool has_clause(const struct clauses *all, enum clause_kind kind)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->item[i].kind == kind)
			return true;
	return false;
}

static int print_fix(struct buf *out, const struct check *c, const struct check_call *call,
	const struct finding *f)
{
	const struct rule *rule = rule_of(c, call);
	if (!rule)
		return buf_add(out, "  fix: call another tool, or add a rule\n");
	if (f->answer.check == CHECK_WHEN)
		return buf_add(out, "  fix: call it unconditionally, or let trusted data decide\n");
	if (f->answer.check == CHECK_READERS)
		return buf_add(out, "  fix: send it to those who may read it\n");
	if (f->answer.check != CHECK_ALLOW)
		return 0;
	bool has_approval = has_clause(&rule->param[f->answer.param].allow, CLAUSE_APPROVED);
	return buf_addf(out, "  fix: take it from the request or from a trusted tool%s\n",
		has_approval ? ", or approve(value, \"why\")" : "");
}

int print_finding(struct buf *out, const struct check *c, const struct check_call *call,
	const struct finding *f)
{
	uint32_t line, column;
	bool is_refuted = f->answer.proof == POLICY_REFUTED;
	const char *what = !is_refuted		    ? "note"
		: f->answer.otherwise == POLICY_ASK ? "ask"
						    : "error";
	source_place(&c->src, f->node->start, &line, &column);
	int r = buf_addf(out, "%s[P%03d]: ", what, finding_code(f));
	if (r == 0)
		r = finding_message(out, call, f);
	if (r == 0)
		r = buf_add(out,
			is_refuted
				? f->answer.otherwise == POLICY_ASK ? "; a person is asked\n" : "\n"
				: "; this is decided when the tool is called\n");
	if (r == 0)
		r = buf_add(out, "  --> ");
	if (r == 0)
		r = utf8_escape_terminal(out, c->src.name, strlen(c->src.name), UTF8_ONE_LINE);
	if (r == 0)
		r = buf_addf(out, ":%u:%u\n", line, column);
	for (uint32_t i = 0; i < f->n_path && r == 0; i++)
		r = print_step(out, c, &f->path[i]);
	if (r == 0)
		r = print_why(out, c, call, f);
	return r == 0 && is_refuted ? print_fix(out, c, call, f) : r;
}

int check_text(const struct check *c, struct buf *out)
{
	int r = 0;
	for (uint32_t i = 0; i < c->n_calls; i++)
		for (uint32_t k = 0; k < c->calls[i]->n_findings && r == 0; k++) {
			const struct finding *f = &c->calls[i]->finding[k];
			/* CHECK_LIMIT asks whether a limit on the whole run is respected. Before
			 * the run, the sums of the run are unknown, so the answer is "depends"
			 * for every plan that is not refuted. Such an answer is not reported,
			 * because it says nothing about this plan. */
			if (f->answer.proof == POLICY_REFUTED ||
				(f->answer.proof == POLICY_DEPENDS &&
					f->answer.check != CHECK_LIMIT))
				r = print_finding(out, c, c->calls[i], f);
		}
	return r;
}
