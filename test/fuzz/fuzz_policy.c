/* Policies and plans against them: any text gets a judgement or a diagnostic within its limits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "unit/plan/plan_tools.h"
#include "plan/program/program.h"
#include "plan/check/check.h"

#include <stdlib.h>
#include <string.h>

enum { LABELS_BYTES = 8 << 20, REPORT_BYTES = 4 << 20 };

static void check_diags(const struct source *src, const struct diags *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct buf text = BUF_INIT(REPORT_BYTES);
		MUST(all->item[i].start <= src->bytes && all->item[i].msg[0]);
		MUST(diag_text(&text, src, &all->item[i]) == 0);
		buf_done(&text);
	}
}

/* Each way to print it ends well, or says that it is too long. */
static void print_all(const struct check *c)
{
	int (*const all[])(const struct check *c, struct buf *out) = {
		check_text, check_explain, check_json};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct buf out = BUF_INIT(REPORT_BYTES);
		(void)all[i](c, &out);
		buf_done(&out);
	}
}

static void check_one(const struct source *src, const struct policy *policy)
{
	static struct diags diags;
	static const struct heap_limits limits = {.fuel = 20000, .bytes = 16 << 20, .depth = 100};
	static const uint64_t seed[2] = {1, 2};
	struct predeclared *names;
	struct dialect dialect = DIALECT_PLAN;
	struct heap heap;
	struct check c = {.heap = &heap,
		.src = *src,
		.policy = policy,
		.request = "send it to bob@b.c",
		.has_margin = true,
		.diags = &diags};
	struct node *tree = NULL;
	dialect.while_loops = dialect.recursion = true;
	diags = (struct diags){0};
	heap_init(&heap, &limits, seed);
	int n = program_names(&heap, &dialect, &test_set, &names);
	if (n >= 0 && tree_parse(&heap, src, &dialect, &diags, &tree) == 0 &&
		tree_resolve(&heap, src, &dialect, names, (size_t)n, &diags, tree) == 0) {
		c.tree = tree;
		int r = check_plan(&c);
		MUST(r == 0 || diags.n > 0);
		if (r == 0 && !labels_has_failed(policy->labels))
			print_all(&c);
	}
	check_diags(src, &diags);
	heap_done(&heap);
}

/* A policy, a NUL, a plan. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct policy policy;
	static struct diags diags;
	const uint8_t *part;
	size_t n = fuzz_part(&data, &bytes, &part), n_run;
	struct source rules = {"policy", n ? (const char *)part : "", n};
	struct source plan = {"plan", bytes ? (const char *)data : "", bytes};
	struct labels *labels = labels_new(LABELS_BYTES);
	MUST(labels != NULL);
	diags = (struct diags){0};
	int r = policy_parse(&policy, &rules, &test_set, labels, &diags);
	MUST((r == 0) == (diags.n == 0));
	if (r == 0) {
		(void)policy_test(&policy, &diags, &n_run);
		check_one(&plan, &policy);
	}
	check_diags(&rules, &diags);
	policy_done(&policy);
	labels_free(labels);
	return 0;
}
