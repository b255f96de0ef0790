/* Explain a refused call: which argument, the origins of its data, and the condition that led to
 * the call. SPDX-License-Identifier: Apache-2.0 */
#include "planner/inside.h"

#include "base/utf8.h"
#include "plan/check/check_print.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_SHOWN_MAX = 6, DEPTH_MAX = 8 };

struct refusal {
	struct run *r;
	const struct plan_call *call;
	const struct policy_answer *answer;
	const struct rule *rule;
};

static const char *param_name(const struct refusal *f)
{
	const struct tool *tool = f->call->tool;
	return f->answer->param < tool->n_params ? tool->param[f->answer->param].name : "calls";
}

/* Append the recipient @v, unless this recipient may read the data. */
static int add_stranger(const struct refusal *f, struct val v, size_t *n, struct buf *out)
{
	struct labels *all = f->r->c.labels;
	struct label l = label_get(all, f->call->arg[f->answer->param].label);
	uint32_t atom = v.type == T_STRING && v.str->n_bytes > 0
		? label_atom(all, v.str->data, v.str->n_bytes)
		: 0;
	if (atom && label_is_subset(all, label_set(all, atom), l.readers))
		return 0;
	if ((*n)++ >= NAMES_SHOWN_MAX)
		return 0;
	int rc = *n > 1 ? buf_add(out, ", ") : 0;
	if (rc == 0 && v.type != T_STRING)
		return buf_add(out, "something that is not a name");
	return rc ? rc
		  : utf8_escape_terminal(out, v.str->data,
			    utf8_cut(v.str->data, v.str->n_bytes, 200), UTF8_ONE_LINE);
}

static int add_strangers(
	const struct refusal *f, struct val v, size_t *n, uint32_t depth, struct buf *out)
{
	if ((v.type != T_LIST && v.type != T_TUPLE) || depth == DEPTH_MAX)
		return add_stranger(f, v, n, out);
	uint32_t n_items = v.type == T_LIST ? v.list->n : v.tuple->n;
	const struct val *item = v.type == T_LIST ? v.list->item : v.tuple->item;
	int rc = 0;
	for (uint32_t i = 0; i < n_items && rc == 0; i++)
		rc = add_strangers(f, item[i], n, depth + 1, out);
	return rc;
}

static int add_readers(const struct refusal *f, struct buf *out)
{
	struct label l = label_get(f->r->c.labels, f->call->arg[f->answer->param].label);
	int covers = f->rule->param[f->answer->param].covers;
	size_t n = 0;
	int rc = buf_addf(out, "%.80s may be read by ", param_name(f));
	rc = rc		    ? rc
		: l.readers ? print_atoms(out, f->r->c.labels, l.readers, "everybody")
			    : buf_add(out, "nobody");
	rc = rc ? rc : buf_add(out, l.readers ? " only; " : "; ");
	rc = rc ? rc : add_strangers(f, f->call->arg[covers].value, &n, 0, out);
	if (rc == 0 && n > NAMES_SHOWN_MAX)
		rc = buf_addf(out, " and %zu more", n - NAMES_SHOWN_MAX);
	return rc ? rc
		  : buf_addf(out, " %s not among them (%.80s)", n == 1 ? "is" : "are",
			    f->call->tool->param[covers].name);
}

static int add_label(const struct refusal *f, const char *what, const char *does, uint32_t label,
	struct buf *out)
{
	int rc = buf_addf(out, "%.80s %s ", what, does);
	return rc ? rc : print_label(out, f->r->c.labels, label);
}

static int add_reason(const struct refusal *f, struct buf *out)
{
	bool is_param = f->answer->param < f->call->tool->n_params;
	uint32_t label = is_param ? f->call->arg[f->answer->param].label : 0;
	int rc;
	switch ((int)f->answer->check) {
	case CHECK_RULE:
		return buf_add(out, "no rule of the policy allows it");
	case CHECK_WHEN:
		return add_label(f, "the call itself", "was decided by", f->call->guard, out);
	case CHECK_READERS:
		return add_readers(f, out);
	case CHECK_LIMIT:
		return buf_addf(out, "the limit of the rule for %.80s is exceeded", param_name(f));
	case CHECK_DENY:
		rc = add_label(f, param_name(f), "is", label, out);
		return rc ? rc : buf_add(out, ", which the rule denies");
	default:
		rc = add_label(f, param_name(f), "is", label, out);
		rc = rc ? rc : buf_add(out, "; allowed is ");
		return rc ? rc
			  : print_clauses(
				    out, &f->r->c.policy, &f->rule->param[f->answer->param].allow);
	}
}

/* The policy answers certain questions about each call, such as whether a value is allowed as an
 * argument. f->answer is the answer that the policy gave during the run to one question about
 * the call f->call. Before the run, the check got answers to the same questions (struct
 * finding). Return the answer that the check got to the question of f->answer. Returns: NULL if
 * there is none. */
static const struct finding *found(const struct refusal *f)
{
	const struct check_call *of = call_checked(&f->r->c.p, f->call);
	for (uint32_t i = 0; of && i < of->n_findings; i++)
		if (of->finding[i].answer.check == f->answer->check &&
			of->finding[i].answer.param == f->answer->param)
			return &of->finding[i];
	return NULL;
}

/* Return whether the check foresaw the origin @text. An origin "tool:t#*" of the check covers all
 * items of a result, such as "tool:t#ann". */
static bool is_foreseen(const struct labels *all, uint32_t foreseen, const char *text)
{
	uint32_t atom;
	for (size_t i = 0; foreseen != LABEL_ALL && (atom = label_nth(all, foreseen, i)); i++) {
		const char *one = label_text(all, atom);
		size_t n = strlen(one);
		bool is_each = n > 2 && strcmp(one + n - 2, "#*") == 0;
		if (is_each ? strncmp(text, one, n - 1) == 0 : strcmp(text, one) == 0)
			return true;
	}
	return foreseen == LABEL_ALL;
}

static int add_foreseen(const struct refusal *f, uint32_t label, uint32_t check, struct buf *out)
{
	struct labels *all = f->r->c.labels;
	uint32_t origins = label_get(all, label).origins, seen = 0, atom;
	uint32_t foreseen = label_get(all, check).origins;
	for (size_t i = 0; origins != LABEL_ALL && (atom = label_nth(all, origins, i)); i++)
		if (strcmp(label_text(all, atom), "plan") != 0 &&
			is_foreseen(all, foreseen, label_text(all, atom)))
			seen = label_union(all, seen, label_set(all, atom));
	return print_atoms(out, all, seen ? seen : foreseen, "anything");
}

/* Append the condition on which the call depends, and the origins of the data that the condition
 * tests. */
static int add_branch(const struct refusal *f, struct buf *out)
{
	const struct finding *of = found(f);
	const struct source *src = &f->r->c.p.src;
	uint32_t line, column, label = f->call->guard;
	if (f->answer->check >= CHECK_ALLOW && f->answer->param < f->call->tool->n_params)
		label = f->call->arg[f->answer->param].label;
	bool has_branch = of && of->branch.end > 0;
	if (!has_branch && f->answer->check == CHECK_READERS) {
		int made = buf_add(out, "\n  made of, or decided by: ");
		return made ? made : add_foreseen(f, label, label, out);
	}
	if (!has_branch)
		return 0;
	source_place(src, of->branch.start, &line, &column);
	const char *text = src->text + of->branch.start;
	size_t bytes = utf8_cut(text, of->branch.end - of->branch.start, 100);
	int rc = buf_add(out, "\n  decided by: ");
	rc = rc ? rc : utf8_escape_terminal(out, text, bytes, UTF8_ONE_LINE);
	rc = rc ? rc : buf_addf(out, " (line %u), which looks at ", line);
	return rc ? rc : add_foreseen(f, label, of->branch.label, out);
}

int run_refusal(struct run *r, const struct plan_call *call, const struct policy_answer *answer,
	size_t n, struct buf *out)
{
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct refusal f = {.r = r,
			.call = call,
			.answer = &answer[i],
			.rule = r->c.policy.rule[call->tool - r->c.policy.tools->tool]};
		if (answer[i].proof == POLICY_PROVED)
			continue;
		rc = buf_add(out, "  why: ");
		rc = rc ? rc : add_reason(&f, out);
		rc = rc ? rc : add_branch(&f, out);
		rc = rc ? rc : buf_add(out, "\n");
	}
	return rc;
}
