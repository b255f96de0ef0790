/* Print the findings of the check as JSON. SPDX-License-Identifier: Apache-2.0 */
#include "plan/check/check_print.h"

#include "base/utf8.h"

#include <string.h>

/* Append @s as a JSON string. Use it only for names and codes, which contain no data of a run. */
static int text(struct buf *out, const char *s)
{
	int r = buf_add(out, "\"");
	for (; *s && r == 0; s++) {
		unsigned char ch = (unsigned char)*s;
		if (ch == '"' || ch == '\\')
			r = buf_addf(out, "\\%c", ch);
		else if (ch < 0x20)
			r = buf_addf(out, "\\u%04x", ch);
		else
			r = buf_append(out, s, 1);
	}
	return r == 0 ? buf_add(out, "\"") : r;
}

static int key(struct buf *out, const char *name, bool is_first)
{
	int r = is_first ? 0 : buf_add(out, ", ");
	if (r == 0)
		r = text(out, name);
	return r == 0 ? buf_add(out, ": ") : r;
}

static int member(struct buf *out, const char *name, const char *value, bool is_first)
{
	int r = key(out, name, is_first);
	return r == 0 ? text(out, value) : r;
}

static int place(struct buf *out, const struct source *src, uint32_t at)
{
	uint32_t line, column;
	source_place(src, at, &line, &column);
	return buf_addf(out, "\"line\": %u, \"column\": %u", line, column);
}

static int atoms(struct buf *out, const struct labels *labels, uint32_t set)
{
	uint32_t atom;
	if (set == LABEL_ALL)
		return buf_add(out, "null");
	int r = buf_add(out, "[");
	for (size_t i = 0; r == 0 && (atom = label_nth(labels, set, i)); i++) {
		r = i ? buf_add(out, ", ") : 0;
		if (r == 0)
			r = text(out, label_text(labels, atom));
	}
	return r == 0 ? buf_add(out, "]") : r;
}

/* Append a label as a JSON object. A set that is LABEL_ALL becomes null; so does an unknown
 * label. */
static int label(struct buf *out, const struct check *c, uint32_t id)
{
	const struct labels *labels = c->policy->labels;
	if (id == LABEL_FAILED)
		return buf_add(out, "null");
	struct label l = label_get(labels, id);
	int r = buf_add(out, "{\"origins\": ");
	if (r == 0)
		r = atoms(out, labels, l.origins);
	if (r == 0)
		r = buf_add(out, ", \"readers\": ");
	if (r == 0)
		r = atoms(out, labels, l.readers);
	if (r == 0)
		r = member(out, "kind", kind_text(l.kind.rank), false);
	if (r == 0)
		r = buf_add(out, ", \"endorsements\": ");
	if (r == 0)
		r = atoms(out, labels, l.endorsements);
	return r == 0 ? buf_add(out, "}") : r;
}

static int step(struct buf *out, const struct check *c, const struct witness_step *s)
{
	static const char *const names[] = {[STEP_SOURCE] = "source",
		[STEP_THROUGH] = "through",
		[STEP_GUARD] = "guard",
		[STEP_SINK] = "sink"};
	int r = buf_add(out, "{");
	if (r == 0)
		r = member(out, "step", names[s->kind], true);
	if (r == 0 && s->tool)
		r = member(out, "tool", s->tool, false);
	if (r == 0)
		r = buf_add(out, ", ");
	if (r == 0)
		r = place(out, &c->src, s->start);
	if (r == 0)
		r = buf_add(out, ", \"label\": ");
	if (r == 0)
		r = label(out, c, s->label);
	return r == 0 ? buf_add(out, "}") : r;
}

static int finding(struct buf *out, const struct check *c, const struct check_call *call,
	const struct finding *f)
{
	static const char *const proofs[] = {[POLICY_PROVED] = "proved",
		[POLICY_DEPENDS] = "depends",
		[POLICY_REFUTED] = "refuted"};
	bool is_param = f->answer.check >= CHECK_ALLOW && f->answer.param < call->tool->n_params;
	uint32_t line, column;
	int r = buf_addf(out, "{\"code\": \"P%03d\"", finding_code(f));
	if (r == 0)
		r = member(out, "check", check_word(f->answer.check), false);
	if (r == 0 && is_param)
		r = member(out, "parameter", call->tool->param[f->answer.param].name, false);
	if (r == 0)
		r = member(out, "proof", proofs[f->answer.proof], false);
	if (r == 0)
		r = member(out, "otherwise", f->answer.otherwise == POLICY_ASK ? "ask" : "deny",
			false);
	if (r == 0 && c->policy->src.text) {
		source_place(&c->policy->src, f->answer.at, &line, &column);
		r = buf_addf(out, ", \"rule_line\": %u", line);
	}
	if (r == 0)
		r = buf_add(out, ", \"path\": [");
	for (uint32_t i = 0; i < f->n_path && r == 0; i++) {
		r = i ? buf_add(out, ", ") : 0;
		if (r == 0)
			r = step(out, c, &f->path[i]);
	}
	return r == 0 ? buf_add(out, "]}") : r;
}

static int arguments(struct buf *out, const struct check *c, const struct check_call *call)
{
	bool is_first = true;
	int r = buf_add(out, "{");
	for (uint32_t i = 0; i < call->tool->n_params && r == 0; i++) {
		if (!call->arg[i].is_given)
			continue;
		r = key(out, call->tool->param[i].name, is_first);
		if (r == 0)
			r = label(out, c, call->arg[i].label);
		is_first = false;
	}
	return r == 0 ? buf_add(out, "}") : r;
}

static int one_call(struct buf *out, const struct check *c, const struct check_call *call)
{
	int r = buf_add(out, "{");
	if (r == 0)
		r = member(out, "tool", call->tool->name, true);
	if (r == 0)
		r = buf_add(out, ", ");
	if (r == 0)
		r = place(out, &c->src, call->node->start);
	if (r == 0)
		r = buf_addf(out,
			", \"repeated\": %s, \"guard\": ", call->is_repeated ? "true" : "false");
	if (r == 0)
		r = label(out, c, call->guard);
	if (r == 0)
		r = buf_add(out, ", \"arguments\": ");
	if (r == 0)
		r = arguments(out, c, call);
	if (r == 0)
		r = buf_add(out, ", \"result\": ");
	if (r == 0)
		r = label(out, c, call->result);
	if (r == 0)
		r = buf_add(out, ", \"findings\": [");
	for (uint32_t i = 0; i < call->n_findings && r == 0; i++) {
		r = i ? buf_add(out, ", ") : 0;
		if (r == 0)
			r = finding(out, c, call, &call->finding[i]);
	}
	return r == 0 ? buf_add(out, "]}") : r;
}

int check_json(const struct check *c, struct buf *out)
{
	bool is_good = c->diags->n_all == 0 && c->n_denied == 0;
	int r = buf_addf(out,
		"{\"ok\": %s, \"denied\": %u, \"asked\": %u, \"depends\": %u, \"calls\": [",
		is_good ? "true" : "false", c->n_denied, c->n_asked, c->n_depends);
	for (uint32_t i = 0; i < c->n_calls && r == 0; i++) {
		r = i ? buf_add(out, ", ") : 0;
		if (r == 0)
			r = one_call(out, c, c->calls[i]);
	}
	if (r == 0)
		r = buf_add(out, "], \"diagnostics\": ");
	if (r == 0)
		r = diags_json(out, &c->src, c->diags);
	return r == 0 ? buf_add(out, "}\n") : r;
}
