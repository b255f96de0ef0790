/*
 * Read and run the tests of a policy. A declaration test(…) states a call and the expected ruling.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plan/policy/inside.h"

#include "plan/value/str.h"

#include <stdio.h>
#include <string.h>

static const struct policy_word rulings[] = {
	{"allow", POLICY_ALLOW}, {"ask", POLICY_ASK}, {"deny", POLICY_DENY}, {NULL, 0}};

static int case_option(struct policy_reader *r, const struct node *arg, struct policy_case *one)
{
	struct policy_arg value;
	int i;
	if (str_is(arg->value, "expect")) {
		if (policy_word(r, arg->kid[0], rulings, &i) < 0)
			return -1;
		one->expect = (enum policy_ruling)i;
		return 0;
	}
	if (str_is(arg->value, "when")) {
		if (policy_value(r, arg->kid[0], &value) < 0)
			return -1;
		one->guard = value.label;
		return 0;
	}
	return policy_param(r, arg, one->tool, &i) < 0 ? -1
						       : policy_value(r, arg->kid[0], &one->arg[i]);
}

int policy_read_case(struct policy_reader *r, const struct node *call)
{
	struct policy_case *one = heap_zero(&r->p->heap, sizeof *one);
	bool has_expect = false;
	if (!one)
		return -1;
	if (call->n < 2)
		return policy_fail(r, P_VALUE, call, "test(\"files.delete\", …, expect = ask)",
			"test: a tool is needed");
	if (policy_tool(r, call->kid[1], &one->tool) < 0)
		return -1;
	one->start = call->start;
	one->end = call->end;
	one->arg = heap_zero(&r->p->heap, (one->tool->n_params + 1) * sizeof *one->arg);
	if (!one->arg)
		return -1;
	for (uint32_t i = 2; i < call->n; i++) {
		const struct node *arg = call->kid[i];
		if (arg->kind != NODE_ARG_NAMED)
			return policy_fail(r, P_VALUE, arg, "", "arguments have names");
		if (case_option(r, arg, one) < 0)
			return -1;
		has_expect |= str_is(arg->value, "expect");
	}
	if (!has_expect)
		return policy_fail(r, P_VALUE, call, "expect = allow, ask or deny",
			"test: what is expected is missing");
	if (r->p->last_case)
		r->p->last_case->next = one;
	else
		r->p->cases = one;
	r->p->last_case = one;
	return 0;
}

/* Return what led to the ruling @got: the name of a parameter, or "when" for the guard. */
static const char *blame(const struct policy_case *one, const struct policy_answer *answer,
	size_t n, enum policy_ruling got)
{
	for (size_t i = 0; i < n; i++)
		if (answer[i].proof != POLICY_PROVED && answer[i].otherwise == got)
			return answer[i].check == CHECK_RULE ? "there is no rule"
				: answer[i].check == CHECK_WHEN ||
					answer[i].param >= one->tool->n_params
				? "when"
				: one->tool->param[answer[i].param].name;
	return "every clause";
}

size_t policy_test(struct policy *p, struct diags *diags, size_t *n_run)
{
	size_t n_failed = 0;
	*n_run = 0;
	for (const struct policy_case *one = p->cases; one; one = one->next) {
		struct policy_answer answer[POLICY_ANSWERS_MAX];
		struct diag d = {.code = P_CASE, .start = one->start, .end = one->end};
		const struct policy_call call = {
			.tool = one->tool, .arg = one->arg, .guard = one->guard};
		size_t n = policy_decide(p, &call, answer);
		/* A limit depends on other calls of the run, so a test of one call treats the limit
		 * as respected. */
		for (size_t i = 0; i < n; i++)
			if (answer[i].check == CHECK_LIMIT && answer[i].proof == POLICY_DEPENDS)
				answer[i].proof = POLICY_PROVED;
		enum policy_ruling got = policy_ruling(answer, n);
		++*n_run;
		if (got == one->expect)
			continue;
		n_failed++;
		snprintf(d.msg, sizeof d.msg, "%.80s: expected %s, the rules say %s (%.80s)",
			one->tool->name, rulings[one->expect].text, rulings[got].text,
			labels_has_failed(p->labels) ? "out of memory"
						     : blame(one, answer, n, got));
		(void)diag_add(diags, &p->src, &d);
	}
	return n_failed;
}
