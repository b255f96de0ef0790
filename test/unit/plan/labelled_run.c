/* SPDX-License-Identifier: Apache-2.0 */
#include "labelled_run.h"

#include "t.h"

#include "base/buf.h"
#include "plan/builtin/json.h"
#include "plan/machine/flow.h"
#include "plan/policy/ground.h"
#include "plan/program/call.h"

#include <stdio.h>
#include <string.h>

enum { LABELS_BYTES = 16 << 20, OUT_BYTES = 1 << 16 };

static const struct tool_field one[] = {{"v", NULL, false}},
			       two[] = {{"v", NULL, false}, {"w", NULL, false}};

#define TOOL(id, params) .name = id, .param = params, .n_params = ARRAY_LEN(params)
static const struct tool tools[] = {
	{TOOL("a", one), .is_read_only = true},
	{TOOL("b", one), .is_read_only = true},
	{TOOL("bad", one), .is_read_only = true},
	{TOOL("c", one), .is_read_only = true},
	{TOOL("log", one), .is_read_only = true},
	{TOOL("mail", one), .is_read_only = true},
	{TOOL("mine", one), .is_read_only = true},
	{TOOL("raw", one), .is_read_only = true},
	{TOOL("two", two), .is_read_only = true},
};
static const struct tool_set set = {tools, ARRAY_LEN(tools)};
static const char policy_text[] =
	"rule('a', effect = read, launder = True)\nrule('b', effect = read, launder = True)\n"
	"rule('bad', effect = read, launder = True)\nrule('c', effect = read, launder = True)\n"
	"rule('log', effect = read)\nrule('raw', effect = read)\nrule('two', effect = read)\n"
	"rule('mail', effect = read, launder = True, result = each(origin = 'from', says = ['name']))\n"
	"rule('mine', effect = read, launder = True, result = value(readers = ['ann', 'bob']))\n";

struct run {
	struct labels *all;
	struct policy policy;
	struct diags diags;
	struct ground ground;
	struct program p;
	struct buf out;
};

static void put(struct run *r, const char *text)
{
	(void)buf_add(&r->out, text);
}

static bool has(const struct labels *all, uint32_t set_of, uint32_t atom)
{
	uint32_t one_of;
	for (size_t i = 0; (one_of = label_nth(all, set_of, i)); i++)
		if (one_of == atom)
			return true;
	return false;
}

static void put_set(struct run *r, const char *before, uint32_t of, const char *behind)
{
	uint32_t atom;
	put(r, before);
	for (size_t i = 0; (atom = label_nth(r->all, of, i)); i++) {
		put(r, i ? "," : "");
		put(r, label_text(r->all, atom));
	}
	put(r, behind);
}

static void put_label(struct run *r, uint32_t id)
{
	static const char *const kinds[] = {[KIND_CONST] = "/const",
		[KIND_BOOL] = "/bool",
		[KIND_ENUM] = "/enum",
		[KIND_NUMBER] = "/number",
		[KIND_DATE] = "/date",
		[KIND_HANDLE] = "/handle",
		[KIND_NAME] = "/name",
		[KIND_TEXT] = ""};
	struct label l = label_get(r->all, id);
	uint32_t atom;
	if (l.origins == LABEL_ALL)
		put(r, "anybody");
	for (size_t i = 0; (atom = label_nth(r->all, l.origins, i)); i++) {
		const char *text = label_text(r->all, atom);
		put(r, i ? " " : "");
		put(r, has(r->all, l.choosers, atom) ? "?" : "");
		put(r, strncmp(text, "tool:", 5) == 0 ? text + 5 : text);
	}
	put(r, l.origins ? kinds[l.kind.rank] : "-");
	put(r, l.is_composed ? "~" : "");
	if (l.endorsements != 0 && l.endorsements != LABEL_ALL)
		put_set(r, "+", l.endorsements, "");
	if (l.readers != LABEL_ALL)
		put_set(r, "<", l.readers, ">");
	if (l.presumed) {
		put(r, "(");
		put_label(r, l.presumed);
		put(r, ")");
	}
}

static void put_call(struct run *r, uint32_t label, uint32_t guard)
{
	put(r, r->out.bytes ? "; " : "");
	put_label(r, label);
	if (guard == 0)
		return;
	put(r, "!");
	put_label(r, guard);
}

/* What was given is given back. */
static int answer_tool(struct run *r, const struct plan_call *call)
{
	struct text t = {.h = &r->p.heap};
	const struct val v = call->arg[0].is_given ? call->arg[0].value : VAL_NONE;
	return json_write(&t, v, &JSON_CANONICAL) < 0
		? -1
		: call_answer(&r->p, call, &r->policy, t.data, t.n);
}

static int answer(struct run *r)
{
	struct plan_call call;
	uint32_t guard = r->p.heap.guard;
	if (call_read(&r->p, &call) < 0)
		return -1;
	if (call.kind == CALL_APPROVE) {
		put_call(r, call.label, 0);
		return call_yes(&r->p, &call);
	}
	if (call.kind == CALL_ASK)
		return call_answer(&r->p, &call, &r->policy, "\"x\"", 3);
	if (strcmp(call.tool->name, "log") == 0)
		put_call(r, call.arg[0].label, call.guard);
	if (strcmp(call.tool->name, "raw") == 0)
		put_call(r, call.label, guard);
	if (strcmp(call.tool->name, "bad") == 0)
		return call_error(&r->p, &call, &r->policy, "no", 2);
	return answer_tool(r, &call);
}

static uint32_t of_literal(void *ctx, struct val v)
{
	return ground_label(ctx, v);
}

static int load(struct run *r, const char *plan)
{
	/* In the order in which they are shown. */
	static const char *const origins[] = {
		"plan", "user", "model", "tool:a", "tool:b", "tool:c"};
	static const char *const own[] = {"plan", "user", "policy"};
	const struct source src = {"plan", plan, strlen(plan)},
			    rules = {"policy", policy_text, sizeof policy_text - 1};
	const struct heap_limits limits = {.fuel = 10000000, .bytes = 64 << 20, .depth = 60};
	const uint64_t seed[2] = {7, 9};
	struct dialect dialect = DIALECT_PLAN;
	uint32_t quiet = 0;
	for (size_t i = 0; i < ARRAY_LEN(origins); i++)
		(void)label_atom(r->all, origins[i], strlen(origins[i]));
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		quiet = label_union(r->all, quiet,
			label_set(r->all, label_atom(r->all, own[i], strlen(own[i]))));
	if (policy_parse(&r->policy, &rules, &set, r->all, &r->diags) < 0 ||
		ground_init(&r->ground, &r->policy.heap, "to ann, 77 2026-11-22", &r->policy) < 0)
		return -1;
	const struct program_setup setup = {.tools = &set,
		.labels = r->all,
		.quiet = quiet,
		.literals = {.ctx = &r->ground, .label = of_literal, .numbers = r->ground.numbers}};
	return program_load_with(&r->p, &src, &dialect, &limits, seed, &setup);
}

static void run(struct run *r, const char *plan)
{
	const struct vm_host host = {0};
	struct val result;
	enum vm_state state = VM_FAILED;
	if (CHECK(r->all != NULL) && CHECK(load(r, plan) == 0))
		state = program_run(&r->p, &host, &result);
	while (state == VM_CALLED)
		state = answer(r) < 0 ? program_fail(&r->p) : program_resume(&r->p, &result);
	if (state == VM_FAILED && r->p.diags.n > 0)
		(void)buf_addf(&r->out, "%sP%d%s", r->out.bytes ? "; " : "",
			r->p.diags.item[0].code, r->p.diags.item[0].is_private ? " private" : "");
}

void labelled_check(const char *plan, const char *want)
{
	static struct run r;
	r = (struct run){.all = labels_new(LABELS_BYTES), .out = BUF_INIT(OUT_BYTES)};
	run(&r, plan);
	if (!CHECK_STR(buf_str(&r.out), want))
		printf("# %s\n", plan);
	buf_done(&r.out);
	program_done(&r.p);
	policy_done(&r.policy);
	labels_free(r.all);
}

void labelled_check_all(const struct labelled *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		labelled_check(rows[i].plan, rows[i].want);
}
