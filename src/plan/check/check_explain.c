/*
 * `retort plan explain`: print the plan with the label of each line in the margin, then its calls
 * with the policy's answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/check/check_print.h"

#include "base/utf8.h"

#include <string.h>

enum { CODE_COLUMNS = 56, SHOWN_BYTES = 160 };

/* Return the join of the labels of all values that a line assigns. Returns: LABEL_FAILED if the
 * line assigns nothing. */
static uint32_t label_of_line(const struct check *c, size_t start, size_t end)
{
	uint32_t label = LABEL_FAILED;
	for (uint32_t i = 0; i < c->n_margins; i++)
		if (c->margin[i].at >= start && c->margin[i].at < end)
			label = label == LABEL_FAILED
				? c->margin[i].label
				: label_join(c->policy->labels, label, c->margin[i].label);
	return label;
}

static int explain_line(
	const struct check *c, struct buf *out, uint32_t number, size_t start, size_t end)
{
	const char *text = c->src.text + start;
	uint32_t label = label_of_line(c, start, end + 1);
	size_t shown = utf8_cut(text, end - start, SHOWN_BYTES), n = utf8_count(text, shown);
	int r = buf_addf(out, "%5u | ", number);
	if (r == 0)
		r = utf8_escape_terminal(out, text, shown, UTF8_KEEP_LINES);
	for (; label != LABEL_FAILED && n < CODE_COLUMNS && r == 0; n++)
		r = buf_add(out, " ");
	if (r == 0 && label != LABEL_FAILED)
		r = buf_add(out, "  # ");
	if (r == 0 && label != LABEL_FAILED)
		r = print_label(out, c->policy->labels, label);
	return r == 0 ? buf_add(out, "\n") : r;
}

static int explain_source(const struct check *c, struct buf *out)
{
	int r = 0;
	uint32_t number = 1;
	for (size_t start = 0; start < c->src.bytes && r == 0; number++) {
		const char *at = memchr(c->src.text + start, '\n', c->src.bytes - start);
		size_t end = at ? (size_t)(at - c->src.text) : c->src.bytes;
		r = explain_line(c, out, number, start, end);
		start = end + 1;
	}
	return r;
}

const char *answer_text(const struct finding *f)
{
	if (f->answer.proof == POLICY_PROVED)
		return "proved";
	bool asks = f->answer.otherwise == POLICY_ASK;
	return f->answer.proof == POLICY_REFUTED ? asks ? "a person is asked" : "denied"
		: asks ? "depends: decided at the call, or a person is asked"
		       : "depends: decided at the call";
}

const char *check_word(enum policy_check check)
{
	static const char *const words[] = {[CHECK_RULE] = "rule",
		[CHECK_WHEN] = "when",
		[CHECK_ALLOW] = "allow",
		[CHECK_DENY] = "deny",
		[CHECK_READERS] = "readers",
		[CHECK_LIMIT] = "limit"};
	return words[check];
}

static int explain_answers(
	const struct check_call *call, struct buf *out, bool is_param, uint32_t param)
{
	int r = 0;
	for (uint32_t i = 0; i < call->n_findings && r == 0; i++) {
		const struct finding *f = &call->finding[i];
		bool is_of_param =
			f->answer.check >= CHECK_ALLOW && f->answer.param < call->tool->n_params;
		if (is_of_param != is_param || (is_param && f->answer.param != param))
			continue;
		r = buf_addf(out, "       %s: %s\n", check_word(f->answer.check), answer_text(f));
	}
	return r;
}

/* Print the tools whose results a call needs. They are the tools among the origins of @label;
 * "tool:net:HOST" is a host from which one of them reads. */
static int explain_needs(const struct check *c, struct buf *out, uint32_t label)
{
	const struct labels *labels = c->policy->labels;
	uint32_t atom, set = label == LABEL_FAILED ? 0 : label_get(labels, label).origins;
	int r = buf_add(out, "     needs:"), n = 0;
	for (size_t i = 0; r == 0 && (atom = label_nth(labels, set, i)); i++) {
		const char *text = label_text(labels, atom);
		if (strncmp(text, "tool:", 5) != 0 || strncmp(text, "tool:net:", 9) == 0)
			continue;
		r = buf_add(out, n++ ? ", " : " ");
		if (r == 0)
			r = utf8_escape_terminal(out, text + 5, strlen(text + 5), UTF8_ONE_LINE);
	}
	return r == 0 ? buf_add(out, n ? "\n" : " no other tool\n") : r;
}

static int explain_call(
	const struct check *c, struct buf *out, const struct check_call *call, uint32_t number)
{
	uint32_t line, column, all = call->guard;
	source_place(&c->src, call->node->start, &line, &column);
	int r = buf_addf(out, "%3u. %s, line %u%s\n", number, call->tool->name, line,
		call->is_repeated ? ", more than once" : "");
	if (r == 0)
		r = buf_add(out, "     decided by: ");
	if (r == 0)
		r = print_label(out, c->policy->labels, call->guard);
	if (r == 0)
		r = buf_add(out, "\n");
	if (r == 0)
		r = explain_answers(call, out, false, 0);
	for (uint32_t i = 0; i < call->tool->n_params && r == 0; i++) {
		if (!call->arg[i].is_given)
			continue;
		all = label_join(c->policy->labels, all, call->arg[i].label);
		r = buf_addf(out, "     %s: ", call->tool->param[i].name);
		if (r == 0)
			r = print_label(out, c->policy->labels, call->arg[i].label);
		if (r == 0)
			r = buf_add(out, "\n");
		if (r == 0)
			r = explain_answers(call, out, true, i);
	}
	if (r == 0)
		r = explain_needs(c, out, all);
	if (r == 0)
		r = buf_add(out, "     gives: ");
	if (r == 0)
		r = print_label(out, c->policy->labels, call->result);
	return r == 0 ? buf_add(out, "\n") : r;
}

/* Print all approvals that the run may need, so that a person can be asked for all of them at
 * once. */
static int explain_approvals(const struct check *c, struct buf *out)
{
	uint32_t n = 0, line, column;
	int r = buf_add(out, "approvals that can be asked for:\n");
	for (uint32_t i = 0; i < c->n_calls; i++)
		for (uint32_t k = 0; k < c->calls[i]->n_findings && r == 0; k++) {
			const struct check_call *call = c->calls[i];
			const struct finding *f = &call->finding[k];
			bool is_param = f->answer.check >= CHECK_ALLOW &&
				f->answer.param < call->tool->n_params;
			if (f->answer.proof == POLICY_PROVED || f->answer.otherwise != POLICY_ASK)
				continue;
			source_place(&c->src, f->node->start, &line, &column);
			r = buf_addf(out, "%3u. line %u: %s%s%s\n", ++n, line, call->tool->name,
				is_param ? "." : "",
				is_param ? call->tool->param[f->answer.param].name : "");
		}
	return r == 0 && n == 0 ? buf_add(out, "  none\n") : r;
}

int check_explain(const struct check *c, struct buf *out)
{
	int r = explain_source(c, out);
	if (r == 0)
		r = buf_add(out, "calls, in their order:\n");
	for (uint32_t i = 0; i < c->n_calls && r == 0; i++)
		r = explain_call(c, out, c->calls[i], i + 1);
	return r == 0 ? explain_approvals(c, out) : r;
}
