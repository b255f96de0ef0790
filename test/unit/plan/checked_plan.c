/* SPDX-License-Identifier: Apache-2.0 */
#include "checked_plan.h"

#include "plan/program/program.h"
#include "plan_tools.h"
#include "t.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1 << 20 };

const struct heap_limits plenty = {.fuel = UINT64_C(1) << 32, .bytes = 256 << 20, .depth = 1000};

static void set_up_all(struct fixture *f, const char *plan, const char *policy, const char *request,
	struct heap_limits limits, size_t label_bytes, const struct tool_set *tools)
{
	static const uint64_t seed[2] = {1, 2};
	struct source rules = {"p.star", policy, policy ? strlen(policy) : 0};
	struct predeclared *names;
	struct dialect dialect = DIALECT_PLAN;
	dialect.while_loops = true;
	*f = (struct fixture){.labels = labels_new(label_bytes), .text = BUF_INIT(TEXT_BYTES)};
	f->src = (struct source){"plan.star", plan, strlen(plan)};
	heap_init(&f->heap, &limits, seed);
	f->rc = policy_parse(&f->policy, policy ? &rules : NULL, tools, f->labels, &f->diags);
	int n = program_names(&f->heap, &dialect, tools, &names);
	if (f->rc == 0 && n < 0)
		f->rc = -1;
	if (f->rc == 0)
		f->rc = tree_parse(&f->heap, &f->src, &dialect, &f->diags, &f->tree);
	if (f->rc == 0)
		f->rc = tree_resolve(
			&f->heap, &f->src, &dialect, names, (size_t)n, &f->diags, f->tree);
	f->check = (struct check){.heap = &f->heap,
		.src = f->src,
		.tree = f->tree,
		.policy = &f->policy,
		.request = request,
		.diags = &f->diags,
		.has_margin = true};
	if (f->rc == 0)
		f->rc = check_plan(&f->check);
	(void)check_text(&f->check, &f->text);
}

void set_up_within(struct fixture *f, const char *plan, const char *policy, const char *request,
	struct heap_limits limits, size_t label_bytes)
{
	set_up_all(f, plan, policy, request, limits, label_bytes, &test_set);
}

void set_up_with(
	struct fixture *f, const char *plan, const char *policy, const struct tool_set *tools)
{
	set_up_all(f, plan, policy, REQUEST, plenty, LABELS_BYTES, tools);
}

void set_up(struct fixture *f, const char *plan, const char *policy, const char *request)
{
	set_up_within(f, plan, policy, request, plenty, LABELS_BYTES);
}

void tear_down(struct fixture *f)
{
	policy_done(&f->policy);
	heap_done(&f->heap);
	labels_free(f->labels);
	buf_done(&f->text);
}

void path_of(const struct fixture *f, char *out, size_t room)
{
	static const char *const names[] = {"source", "through", "guard", "sink"};
	out[0] = '\0';
	for (uint32_t i = 0; i < f->check.n_calls; i++)
		for (uint32_t k = 0; k < f->check.calls[i]->n_findings; k++) {
			const struct finding *one = &f->check.calls[i]->finding[k];
			if (one->answer.proof != POLICY_REFUTED)
				continue;
			for (uint32_t s = 0; s < one->n_path; s++) {
				uint32_t line, column;
				size_t n = strlen(out);
				source_place(&f->src, one->path[s].start, &line, &column);
				snprintf(out + n, room - n, "%s%s %u", n ? " " : "",
					names[one->path[s].kind], line);
			}
			return;
		}
}

const char *verdict_of(const struct fixture *f)
{
	return f->rc < 0	     ? "refused"
		: f->check.n_denied  ? "deny"
		: f->check.n_asked   ? "ask"
		: f->check.n_depends ? "depends"
				     : "allow";
}

void run_flows(const struct flow *rows, size_t n, const char *policy)
{
	for (size_t i = 0; i < n; i++) {
		static struct fixture f;
		char plan[4096], path[512];
		snprintf(plan, sizeof plan, "%s%s", PRELUDE, rows[i].plan);
		set_up(&f, plan, policy, REQUEST);
		path_of(&f, path, sizeof path);
		int ok = CHECK_STR(verdict_of(&f), rows[i].verdict);
		if (rows[i].path)
			ok &= CHECK_STR(path, rows[i].path);
		if (!ok)
			printf("# %s: %s# %s\n", rows[i].name, rows[i].plan,
				f.diags.n ? f.diags.item[0].msg : buf_str(&f.text));
		tear_down(&f);
	}
}
