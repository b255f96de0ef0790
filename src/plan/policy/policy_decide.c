/*
 * Decide about a call. One function serves both the check, which knows only labels, and the run,
 * which also knows the values.
 *
 * policy_decide() answers a fixed list of questions about a call (enum policy_check): does a rule
 * exist; may the guard decide on the call; for each parameter, does one of the `allow` clauses
 * hold, does no `deny` clause hold, and do the readers include all recipients; are the limits
 * respected. An answer is PROVED or REFUTED if it is the same for all values, or DEPENDS if only
 * the run can decide. In the run, DEPENDS has the same effect as REFUTED (policy_ruling()).
 *
 * Clauses of `allow` are alternatives, so their best answer counts; everywhere else, the worst
 * answer counts. The default is to deny: a call without a rule is refuted, and so is a value for
 * which no `allow` clause holds.
 *
 * The second half of the file computes the labels of results, which is where origins and readers
 * enter a plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/policy/inside.h"

#include "plan/policy/policy_list.h"
#include "plan/policy/policy_text.h"
#include "plan/value/int.h"
#include "plan/value/str.h"
#include "plan/value/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXTS_DEPTH_MAX = 8, ITEM_NAME_MAX_BYTES = 512 };

static bool is_sound(const struct policy *p, uint32_t label)
{
	return label != LABEL_FAILED && !labels_has_failed(p->labels);
}

/* Decide whether an origin that is not in the set of trusted origins is trusted all the same.
 * This is possible only for the origin of an item, such as "tool:mail.search#ann@example.com",
 * and depends on the item's owner. */
static enum policy_proof trusts_item(const struct policy *p, const char *text)
{
	const char *of = strchr(text, '#');
	if (!of || strncmp(text, "tool:", 5) != 0)
		return POLICY_REFUTED;
	uint32_t tool = label_atom(p->labels, text, (size_t)(of - text));
	if (tool && label_is_subset(p->labels, label_set(p->labels, tool), p->trusted))
		return POLICY_PROVED;
	for (const struct trusted_items *i = p->items; i; i = i->next) {
		if (i->tool != tool)
			continue;
		if (strcmp(of, "#*") == 0)
			return POLICY_DEPENDS;
		for (uint32_t k = 0; k < i->list.tuple->n; k++)
			if (policy_ends_with(of + 1, strlen(of + 1), i->list.tuple->item[k].str))
				return POLICY_PROVED;
	}
	return POLICY_REFUTED;
}

static enum policy_proof trusts_all(const struct policy *p, uint32_t origins, bool is_guard)
{
	enum policy_proof worst = POLICY_PROVED;
	uint32_t atom;
	if (label_is_subset(p->labels, origins, p->trusted))
		return POLICY_PROVED;
	if (origins == LABEL_ALL)
		return POLICY_REFUTED;
	for (size_t i = 0; (atom = label_nth(p->labels, origins, i)); i++) {
		const char *text = label_text(p->labels, atom);
		/* The planner may decide which calls are made, so a guard may have the origin
		 * "plan". */
		if (label_is_subset(p->labels, label_set(p->labels, atom), p->trusted) ||
			(is_guard && strcmp(text, "plan") == 0))
			continue;
		enum policy_proof one = trusts_item(p, text);
		worst = MAX(worst, one);
	}
	return labels_has_failed(p->labels) ? POLICY_REFUTED : worst;
}

enum policy_proof policy_trusts(const struct policy *p, uint32_t label)
{
	return is_sound(p, label) ? trusts_all(p, label_get(p->labels, label).origins, false)
				  : POLICY_REFUTED;
}

/* @c is a clause chosen(…). Return whether @c may name the origin @text, but only the run can
 * decide this. This is so if @text stands for items with unknown owners, and @c names an item of
 * the same tool. For example, @text is "tool:files.list#*", and @c names "tool:files.list#ann".
 * Before the run it is unknown whether the owner is ann. */
static bool is_some_giver(const struct policy *p, const struct clause *c, const char *text)
{
	size_t n = strlen(text);
	uint32_t atom;
	if (n < 2 || strcmp(text + n - 2, "#*") != 0)
		return false;
	for (size_t i = 0; (atom = label_nth(p->labels, c->givers, i)); i++)
		if (strncmp(label_text(p->labels, atom), text, n - 1) == 0)
			return true;
	return false;
}

/* Decide a chosen() clause. It holds if each origin whose data is in the value (each giver) is
 * trusted or named by the clause. Origins whose data only selected the value do not matter. */
static enum policy_proof gives_all(const struct policy *p, const struct clause *c, uint32_t label)
{
	enum policy_proof worst = POLICY_PROVED;
	uint32_t givers = label_givers(p->labels, label), rest = 0, atom;
	if (givers == LABEL_ALL)
		return POLICY_REFUTED;
	for (size_t i = 0; (atom = label_nth(p->labels, givers, i)); i++) {
		uint32_t one = label_set(p->labels, atom);
		if (is_some_giver(p, c, label_text(p->labels, atom)))
			worst = POLICY_DEPENDS;
		else if (!label_is_subset(p->labels, one, c->givers))
			rest = label_union(p->labels, rest, one);
	}
	enum policy_proof proof = trusts_all(p, rest, false);
	return is_sound(p, label) ? MAX(proof, worst) : POLICY_REFUTED;
}

static bool is_approved(const struct policy *p, uint32_t set)
{
	static const char word[] = "approved";
	uint32_t atom;
	for (size_t i = 0; set != LABEL_ALL && (atom = label_nth(p->labels, set, i)); i++) {
		const char *text = label_text(p->labels, atom);
		if (strncmp(text, word, sizeof word - 1) == 0 &&
			(text[sizeof word - 1] == '\0' || text[sizeof word - 1] == '#'))
			return true;
	}
	return set == LABEL_ALL;
}

typedef bool text_test(const void *arg, struct val v);

/* Return whether the test holds for every element of @v. @v is one value or a list of values,
 * which may be nested. */
static bool all_texts(struct val v, uint32_t depth, text_test *test, const void *arg)
{
	if (v.type != T_LIST && v.type != T_TUPLE)
		return test(arg, v);
	uint32_t n = v.type == T_LIST ? v.list->n : v.tuple->n;
	const struct val *item = v.type == T_LIST ? v.list->item : v.tuple->item;
	for (uint32_t i = 0; i < n; i++)
		if (depth == TEXTS_DEPTH_MAX || !all_texts(item[i], depth + 1, test, arg))
			return false;
	return true;
}

static bool ends_well(const void *arg, struct val v)
{
	const struct tuple *list = arg;
	for (uint32_t i = 0; v.type == T_STRING && i < list->n; i++)
		if (policy_ends_with(v.str->data, v.str->n_bytes, list->item[i].str))
			return true;
	return false;
}

static bool is_member(const void *arg, struct val v)
{
	const struct tuple *list = arg;
	for (uint32_t i = 0; i < list->n; i++)
		if (policy_is_same(v, list->item[i]))
			return true;
	return false;
}

/* Decide whether @v is the item that the request asks for, among the items that the run has
 * listed. */
static enum policy_proof is_extreme(
	const struct policy_listed *l, const struct extreme *e, struct val v)
{
	if (!l || !l->is_said[e->index])
		return POLICY_REFUTED;
	struct val item = l->item[e->index];
	if (item.type == T_UNSET || v.type == T_UNSET)
		return POLICY_DEPENDS;
	return policy_is_same(v, item) ? POLICY_PROVED : POLICY_REFUTED;
}

struct question {
	const struct policy *p;
	const struct policy_arg *arg;
	const struct policy_listed *listed;
	bool is_guard;
};

static enum policy_proof prove(const struct question *q, const struct clause *c)
{
	const struct policy *p = q->p;
	const struct policy_arg *arg = q->arg;
	struct label l = label_get(p->labels, arg->label);
	bool holds;
	switch ((int)c->kind) {
	case CLAUSE_TRUSTED:
		return trusts_all(p, l.origins, q->is_guard);
	case CLAUSE_APPROVED:
		holds = is_approved(p, l.endorsements);
		break;
	case CLAUSE_CHOSEN:
		return q->is_guard ? POLICY_REFUTED : gives_all(p, c, arg->label);
	case CLAUSE_GREATEST:
	case CLAUSE_LEAST:
		return q->is_guard ? POLICY_REFUTED : is_extreme(q->listed, c->extreme, arg->value);
	case CLAUSE_AT_MOST:
		holds = kind_is_below(l.kind, c->at_most);
		break;
	default:
		if (arg->value.type == T_UNSET)
			return POLICY_DEPENDS;
		holds = all_texts(arg->value, 0, c->kind == CLAUSE_MEMBER ? is_member : ends_well,
			c->list.tuple);
	}
	return holds ? POLICY_PROVED : POLICY_REFUTED;
}

/* Decide a list of alternative clauses, such as `trusted` and at_most(number). One clause that
 * holds is enough, so the answer is the best answer of all clauses. */
static enum policy_proof prove_any(const struct question *q, const struct clauses *all)
{
	enum policy_proof best = POLICY_REFUTED;
	if (!is_sound(q->p, q->arg->label))
		return POLICY_REFUTED;
	for (uint32_t i = 0; i < all->n; i++) {
		enum policy_proof one = prove(q, &all->item[i]);
		best = MIN(best, one);
	}
	return best;
}

/* Decide the `deny` clauses. The answer is POLICY_REFUTED if one of them may hold for any part
 * of the value. */
static enum policy_proof prove_none(const struct question *q, const struct clauses *all)
{
	struct val v = q->arg->value;
	if (!is_sound(q->p, q->arg->label))
		return POLICY_REFUTED;
	for (uint32_t i = 0; i < all->n && v.type != T_UNSET; i++) {
		const struct tuple *list = all->item[i].list.tuple;
		if (all->item[i].kind == CLAUSE_MEMBER ? policy_any_member(v, list)
						       : policy_any_ends_with(v, list))
			return POLICY_REFUTED;
	}
	return v.type == T_UNSET ? POLICY_DEPENDS : POLICY_PROVED;
}

struct reading {
	const struct policy *p;
	uint32_t readers;
};

static bool may_read(const void *arg, struct val v)
{
	const struct reading *r = arg;
	if (v.type != T_STRING || strlen(v.str->data) != v.str->n_bytes || v.str->n_bytes == 0)
		return false;
	uint32_t atom = label_atom(r->p->labels, v.str->data, v.str->n_bytes);
	return atom && label_is_subset(r->p->labels, label_set(r->p->labels, atom), r->readers);
}

static bool has_items(const struct policy *p, uint32_t origins)
{
	uint32_t atom;
	for (size_t i = 0; origins != LABEL_ALL && (atom = label_nth(p->labels, origins, i)); i++) {
		const char *of = strchr(label_text(p->labels, atom), '#');
		if (of && strcmp(of, "#*") == 0)
			return true;
	}
	return false;
}

static enum policy_proof prove_readers(
	const struct policy *p, const struct policy_arg *arg, const struct policy_arg *to)
{
	if (!is_sound(p, arg->label))
		return POLICY_REFUTED;
	struct label l = label_get(p->labels, arg->label);
	const struct reading r = {p, l.readers};
	if (l.readers == LABEL_ALL || !to->is_given)
		return POLICY_PROVED;
	if (has_items(p, l.origins) || to->value.type == T_UNSET)
		return POLICY_DEPENDS;
	return all_texts(to->value, 0, may_read, &r) ? POLICY_PROVED : POLICY_REFUTED;
}

static enum policy_proof prove_sum(
	const struct param_rule *rule, const struct policy_arg *arg, const double *spent)
{
	struct heap none = {0};
	double x = (double)NAN;
	if (arg->value.type == T_UNSET)
		return POLICY_DEPENDS;
	if (arg->value.type == T_FLOAT)
		x = arg->value.f;
	else if (!val_is_int(arg->value) || int_to_float(&none, arg->value, &x) < 0)
		return POLICY_REFUTED;
	if (!(x >= 0) || !(x + (spent ? spent[rule->limit_index] : 0) <= rule->limit))
		return POLICY_REFUTED;
	return spent ? POLICY_PROVED : POLICY_DEPENDS;
}

struct answers {
	struct policy_answer *out;
	size_t n;
};

static void answer(struct answers *all, enum policy_check check, enum policy_proof proof, bool asks,
	uint32_t param, uint32_t at)
{
	all->out[all->n++] =
		(struct policy_answer){check, proof, asks ? POLICY_ASK : POLICY_DENY, param, at};
}

static void decide_param(const struct policy *p, const struct rule *rule,
	const struct policy_call *call, uint32_t i, struct answers *all)
{
	const struct param_rule *one = &rule->param[i];
	const struct policy_arg *arg = &call->arg[i];
	const struct question q = {.p = p, .arg = arg, .listed = call->listed};
	if (!arg->is_given)
		return;
	if (one->allow.n > 0)
		answer(all, CHECK_ALLOW, prove_any(&q, &one->allow), one->asks, i, one->at);
	if (one->deny.n > 0)
		answer(all, CHECK_DENY, prove_none(&q, &one->deny), false, i, one->at);
	if (one->covers >= 0)
		answer(all, CHECK_READERS, prove_readers(p, arg, &call->arg[one->covers]),
			one->asks, i, one->at);
	if (one->has_limit)
		answer(all, CHECK_LIMIT, prove_sum(one, arg, call->spent), false, i, rule->start);
}

static const struct rule *rule_of(const struct policy *p, const struct tool *tool)
{
	size_t i = (size_t)(tool - p->tools->tool);
	return i < p->tools->n && !p->is_denied[i] ? p->rule[i] : NULL;
}

size_t policy_decide(const struct policy *p, const struct policy_call *call,
	struct policy_answer out[POLICY_ANSWERS_MAX])
{
	struct answers all = {out, 0};
	const struct rule *rule = rule_of(p, call->tool);
	const struct policy_arg guard = {
		.is_given = true, .label = call->guard, .value = VAL_UNSET};
	const struct question when = {.p = p, .arg = &guard, .is_guard = true};
	if (!rule || call->tool->n_params > TOOL_PARAMS_MAX) {
		answer(&all, CHECK_RULE, POLICY_REFUTED, false, 0, 0);
		return all.n;
	}
	answer(&all, CHECK_RULE, POLICY_PROVED, false, 0, rule->start);
	if (rule->when.n > 0)
		answer(&all, CHECK_WHEN, prove_any(&when, &rule->when), rule->when_asks, 0,
			rule->when.start);
	for (uint32_t i = 0; i < call->tool->n_params; i++)
		decide_param(p, rule, call, i, &all);
	if (rule->has_limit) {
		double n = call->spent ? call->spent[rule->limit_index] + 1 : 1;
		answer(&all, CHECK_LIMIT,
			n > rule->limit	      ? POLICY_REFUTED
				: call->spent ? POLICY_PROVED
					      : POLICY_DEPENDS,
			false, call->tool->n_params, rule->start);
	}
	return all.n;
}

enum policy_ruling policy_ruling(const struct policy_answer *all, size_t n)
{
	enum policy_ruling worst = POLICY_ALLOW;
	for (size_t i = 0; i < n; i++)
		if (all[i].proof != POLICY_PROVED)
			worst = MAX(worst, all[i].otherwise);
	return worst;
}

void policy_spend(const struct policy *p, const struct policy_call *call, double *spent)
{
	const struct rule *rule = rule_of(p, call->tool);
	struct heap none = {0};
	if (!rule)
		return;
	if (rule->has_limit)
		spent[rule->limit_index] += 1;
	for (uint32_t i = 0; i < call->tool->n_params; i++) {
		double x = 0;
		if (!rule->param[i].has_limit || !call->arg[i].is_given)
			continue;
		if (call->arg[i].value.type == T_FLOAT)
			x = call->arg[i].value.f;
		else if (val_is_int(call->arg[i].value))
			(void)int_to_float(&none, call->arg[i].value, &x);
		spent[rule->param[i].limit_index] += x;
	}
}

/* Return the origins of what a tool itself adds to its result: the tool, or the owner @of of an
 * item, and the hosts that the tool declares. A tool that is trusted may still pass on what a host
 * has sent, so each part of the result has the hosts as givers. */
static uint32_t origins_of(const struct policy *p, const struct tool *tool, const char *of)
{
	size_t i = (size_t)(tool - p->tools->tool);
	uint32_t own = label_set(p->labels, policy_atom(p, "tool", tool->name, of));
	return label_union(p->labels, own, i < p->tools->n ? p->hosts[i] : LABEL_ALL);
}

static uint32_t declared(const struct policy *p, const struct tool *tool, const char *of,
	uint32_t readers, uint32_t inputs)
{
	const struct rule *rule = rule_of(p, tool);
	struct label l = {.origins = origins_of(p, tool, of),
		.readers = readers,
		.kind = {.rank = KIND_TEXT}};
	if (rule && rule->result.has_kind)
		l.kind = rule->result.kind;
	if (labels_has_failed(p->labels))
		return LABEL_FAILED;
	uint32_t id = label_intern(p->labels, &l);
	if (rule && rule->result.launders)
		return id;
	/*
	 * The arguments of the tool flow into its result, so their label is joined to the label of
	 * the result. Before the join, the label of the arguments is changed:
	 * - Each origin becomes a giver, an origin whose data is in the value (choosers = 0). The
	 *   reason is that a tool may put data of its arguments into the result.
	 * - The kind becomes the lowest one, KIND_CONST. So the join does not change the kind that
	 *   the rule declares for the result.
	 * - The endorsements are removed, because they were about the arguments.
	 */
	struct label in = inputs == LABEL_FAILED ? l : label_get(p->labels, inputs);
	in.kind = (struct kind){.rank = KIND_CONST};
	in.choosers = in.is_composed = 0;
	in.endorsements = inputs == LABEL_BOTTOM ? LABEL_ALL : 0;
	return inputs == LABEL_FAILED ? LABEL_FAILED
				      : label_join(p->labels, id, label_intern(p->labels, &in));
}

static uint32_t reader_set(const struct policy *p, struct val names)
{
	uint32_t set = names.type == T_UNSET ? LABEL_ALL : 0;
	for (uint32_t i = 0; names.type == T_TUPLE && i < names.tuple->n; i++) {
		const struct str *s = names.tuple->item[i].str;
		uint32_t atom = label_atom(p->labels, s->data, s->n_bytes);
		set = label_union(p->labels, set, label_set(p->labels, atom));
	}
	return set;
}

uint32_t policy_result(const struct policy *p, const struct tool *tool, uint32_t inputs)
{
	const struct rule *rule = rule_of(p, tool);
	bool is_each = rule && rule->result.is_each;
	/* If the rule labels the items, the list itself reveals only their number, which
	 * everybody may know. */
	uint32_t readers = rule && !is_each ? reader_set(p, rule->result.readers) : LABEL_ALL;
	return declared(p, tool, NULL, readers, inputs);
}

struct val policy_member(struct val item, struct val name)
{
	if (item.type == T_DICT)
		for (uint32_t i = 0; i < item.table->n_entries; i++) {
			const struct entry *e = &item.table->entry[i];
			if (e->key.type == T_STRING && str_equal(e->key.str, name.str))
				return e->value;
		}
	if (item.type == T_STRUCT)
		for (uint32_t i = 0; i < item.record->n; i++)
			if (str_equal(item.record->names[i].str, name.str))
				return item.record->values[i];
	return VAL_UNSET;
}

struct collected {
	const struct policy *p;
	uint32_t *set;
};

static bool collect(const void *arg, struct val v)
{
	const struct collected *c = arg;
	bool is_text = v.type == T_STRING && v.str->n_bytes > 0 &&
		v.str->n_bytes <= LABEL_ATOM_MAX_BYTES && strlen(v.str->data) == v.str->n_bytes;
	if (is_text) {
		uint32_t atom = label_atom(c->p->labels, v.str->data, v.str->n_bytes);
		*c->set = label_union(c->p->labels, *c->set, label_set(c->p->labels, atom));
	}
	return true;
}

/* Collect the readers that a field of an item names. The field is a text, a list of texts, or a
 * dict with the readers as keys, such as {"ann@example.com": "rw"}. */
static void collect_all(const struct collected *to, struct val v)
{
	for (uint32_t i = 0; v.type == T_DICT && i < v.table->n_entries; i++)
		(void)collect(to, v.table->entry[i].key);
	(void)all_texts(v, 0, collect, to);
}

/* Return the owner of an item, which is the text in its field @name. Returns: "?" if the field
 * is missing or malformed. */
static const char *owner_of(struct val item, struct val name)
{
	struct val v = policy_member(item, name);
	bool is_text = v.type == T_STRING && v.str->n_bytes > 0 &&
		v.str->n_bytes <= ITEM_NAME_MAX_BYTES && strlen(v.str->data) == v.str->n_bytes &&
		!str_is(v, "*");
	return is_text ? v.str->data : "?";
}

/*
 * Return the label of some fields of an item. An item is an element of a tool's result.
 * - If the rule of the tool does not label the result item by item, return the label of the whole
 *   result.
 * - If the rule names, in `says`, the fields that the owner of the item wrote, then @is_said
 *   chooses between two labels. If @is_said is true, return the label of the fields that the owner
 *   wrote. If @is_said is false, return the label of all other fields. Nobody knows who wrote the
 *   other fields, so their owner is "?".
 * - If the rule has no `says`, return the label of all fields of the item. Then @is_said does not
 *   matter.
 */
static uint32_t item_label(const struct policy *p, const struct tool *tool, uint32_t inputs,
	struct val item, bool is_said)
{
	const struct rule *rule = rule_of(p, tool);
	if (!rule || !rule->result.is_each)
		return policy_result(p, tool, inputs);
	const struct result_rule *r = &rule->result;
	uint32_t readers = r->readers.type == T_UNSET ? LABEL_ALL : 0;
	const struct collected to = {p, &readers};
	bool is_nobodys = r->says.type != T_UNSET && !is_said, is_known = item.type != T_UNSET;
	const char *of = r->origin.type == T_UNSET ? NULL
		: !is_known			   ? "*"
		: is_nobodys			   ? "?"
						   : owner_of(item, r->origin);
	/* The rule says who may read an item, but not which field contains the owner of the
	 * item. So the owner is unknown, but the origin of the item gets an owner all the same:
	 * "*" before the run, "?" in the run. The "*" tells prove_readers() that the readers of
	 * the item are still unknown, so prove_readers() returns POLICY_DEPENDS. */
	if (!of && r->readers.type != T_UNSET)
		of = is_known ? "?" : "*";
	for (uint32_t i = 0; is_known && r->readers.type == T_TUPLE && i < r->readers.tuple->n; i++)
		collect_all(&to, policy_member(item, r->readers.tuple->item[i]));
	uint32_t id = declared(p, tool, of, readers, inputs);
	/*
	 * For fields that the owner of the item did not write, the label before the run is the join
	 * of two labels:
	 * - A label with the origin "tool:NAME#*". This origin tells prove_readers() that the
	 *   readers of the item are still unknown.
	 * - A label with the origin "tool:NAME#?". This is the origin that the fields will have in
	 *   the run.
	 */
	return is_nobodys && !is_known
		? label_join(p->labels, id, declared(p, tool, "?", readers, inputs))
		: id;
}

uint32_t policy_item(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item)
{
	return item_label(p, tool, inputs, item, false);
}

uint32_t policy_said(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item)
{
	return item_label(p, tool, inputs, item, true);
}

bool policy_is_said(const struct policy *p, const struct tool *tool, const char *name)
{
	const struct rule *rule = rule_of(p, tool);
	struct val says = rule ? rule->result.says : VAL_UNSET;
	for (uint32_t i = 0; says.type == T_TUPLE && i < says.tuple->n; i++)
		if (str_is(says.tuple->item[i], name))
			return true;
	return false;
}
