/* Plans with labels and tools: whatever is called and answered, runs end within their limits; JSON
 * that is read can be written and read again; patterns end. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "plan/builtin/json.h"
#include "plan/machine/flow.h"
#include "plan/program/call.h"
#include "plan/value/pattern.h"

#include <stdlib.h>
#include <string.h>

static const struct tool_type text_type = {.shape = TOOL_STRING, .kind = {.rank = KIND_TEXT}};
static const struct tool_field params[] = {{"a", &text_type, false}, {"b", NULL, false}};
static const char *const any_host[] = {"any"};
static const struct tool tools[] = {
	{.name = "mail.get",
		.param = params,
		.n_params = 2,
		.host = any_host,
		.n_hosts = 1,
		.is_read_only = true},
	{.name = "mail.send", .param = params, .n_params = 2},
	{.name = "src", .param = params, .n_params = 2},
};
static const struct tool_set set = {tools, 3};

static uint32_t literal(void *ctx, struct val v)
{
	const uint32_t *label = ctx;
	return v.type == T_BOOL ? 0 : *label;
}

/* Returns: 0 the machine goes on, -1 it fails. */
static int answer(struct program *p, const struct policy *policy)
{
	struct plan_call call;
	struct text t = {.h = &p->heap};
	if (call_read(p, &call) < 0)
		return -1;
	if (call.kind == CALL_APPROVE)
		return call_yes(p, &call);
	if (call.kind == CALL_ASK)
		return call_answer(p, &call, policy, "[1, \"x\"]", 8);
	if (call.arg[0].is_given && call.arg[0].value.str->n_bytes % 3 == 1)
		return call_error(p, &call, policy, "\xff no", 4);
	if (call_arguments(p, &call, &t) < 0)
		return -1;
	return call_answer(p, &call, policy, t.data, t.n);
}

static void run(const struct source *src, struct labels *all, const struct policy *policy)
{
	static struct program p;
	const struct heap_limits limits = {.fuel = 20000, .bytes = 8 << 20, .depth = 60};
	const struct vm_host host = {0};
	const uint64_t seed[2] = {1, 2};
	struct dialect dialect = DIALECT_PLAN;
	struct val out;
	uint32_t plan = label_set(all, label_atom(all, "plan", 4));
	const struct label own = {
		.origins = plan, .readers = LABEL_ALL, .kind = {.rank = KIND_TEXT}};
	uint32_t label = label_intern(all, &own);
	const struct program_setup setup = {.tools = &set,
		.labels = all,
		.literals = {.ctx = &label, .label = literal},
		.quiet = plan};
	dialect.while_loops = dialect.recursion = true;
	if (program_load_with(&p, src, &dialect, &limits, seed, &setup) == 0) {
		enum vm_state state = program_run(&p, &host, &out);
		while (state == VM_CALLED)
			state = answer(&p, policy) < 0 ? program_fail(&p)
						       : program_resume(&p, &out);
		MUST((state == VM_FAILED) == (p.diags.n > 0));
	}
	MUST(p.heap.used_bytes <= limits.bytes);
	program_done(&p);
}

static void run_json(const char *data, size_t bytes)
{
	struct heap h;
	const struct heap_limits limits = {.fuel = 100000, .bytes = 4 << 20, .depth = 60};
	const uint64_t seed[2] = {1, 2};
	struct val v, again;
	heap_init(&h, &limits, seed);
	struct text t = {.h = &h}, other = {.h = &h};
	if (json_read(&h, data, bytes, &v) == 0 && json_write(&t, v, &JSON_CANONICAL) == 0 &&
		json_read(&h, t.data, t.n, &again) == 0 &&
		json_write(&other, again, &JSON_CANONICAL) == 0)
		MUST(t.n == other.n && memcmp(t.data, other.data, t.n) == 0);
	else
		MUST(h.kind != FAIL_NONE);
	heap_done(&h);
	heap_init(&h, &limits, seed);
	const char *end = memchr(data, '\n', bytes);
	size_t n = end ? (size_t)(end - data) : bytes;
	int r = pattern_matches(&h, data, n, data + n, bytes - n);
	MUST((r < 0) == (h.kind != FAIL_NONE));
	heap_done(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct policy policy;
	static struct diags diags;
	struct source src = {"fuzz", bytes ? (const char *)data : "", bytes};
	struct labels *all = labels_new(1 << 20);
	MUST(all && policy_parse(&policy, NULL, &set, all, &diags) == 0);
	run(&src, all, &policy);
	run_json(src.text, bytes);
	policy_done(&policy);
	labels_free(all);
	return 0;
}
