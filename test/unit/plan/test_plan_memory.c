/* Memory may end at any allocation: of policies, plans, their check, and a run of them. The linker
 * sends every allocation of the module through here. SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "plan/check/check.h"
#include "plan/machine/format.h"
#include "plan/program/call.h"

#include <gmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next ones until one fails, or -1: none does; and how many pieces are held. */
static long countdown = -1, n_held;
static bool has_failed;

static bool fails(void)
{
	if (countdown < 0 || countdown-- > 0)
		return false;
	has_failed = true;
	return true;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void __real_free(void *p);
void *__real_heap_alloc(struct heap *h, size_t bytes);
void *__real_heap_zero(struct heap *h, size_t bytes);
void *__real_heap_regrow(struct heap *h, void *p, size_t n, size_t room, size_t size);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void __wrap_free(void *p);
void *__wrap_heap_alloc(struct heap *h, size_t bytes);
void *__wrap_heap_zero(struct heap *h, size_t bytes);
void *__wrap_heap_regrow(struct heap *h, void *p, size_t n, size_t room, size_t size);

static void *held(void *p)
{
	n_held += p != NULL;
	return p;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : held(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : held(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *p, size_t bytes)
{
	if (fails())
		return NULL;
	void *now = __real_realloc(p, bytes);
	return p ? now : held(now);
}

void __wrap_free(void *p)
{
	n_held -= p != NULL;
	__real_free(p);
}

/* As new_chunk() in heap.c would, for each piece instead of for each chunk. */
static bool heap_fails(struct heap *h)
{
	if (!fails())
		return false;
	(void)heap_fail_kind(h, FAIL_MEMORY, "out of memory: the host has no more");
	return true;
}

void *__wrap_heap_alloc(struct heap *h, size_t bytes)
{
	return heap_fails(h) ? NULL : __real_heap_alloc(h, bytes);
}

void *__wrap_heap_zero(struct heap *h, size_t bytes)
{
	return heap_fails(h) ? NULL : __real_heap_zero(h, bytes);
}

void *__wrap_heap_regrow(struct heap *h, void *p, size_t n, size_t room, size_t size)
{
	return heap_fails(h) ? NULL : __real_heap_regrow(h, p, n, room, size);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static const struct tool_type words = {.shape = TOOL_STRING, .kind = {.rank = KIND_TEXT}},
			      number = {.shape = TOOL_INT, .kind = {.rank = KIND_NUMBER}};
static const struct tool_field mail_fields[] = {
	{"sender", &words, true}, {"body", &words, true}, {"size", &number, true}};
static const struct tool_type mail = {.shape = TOOL_DICT, .field = mail_fields, .n_fields = 3},
			      mails = {.shape = TOOL_LIST, .item = &mail};
static const struct tool_field query[] = {{"q", &words, true}},
			       send[] = {{"to", NULL, true}, {"body", NULL, false}};
static const struct tool tools[] = {
	{.name = "mail.get", .param = query, .n_params = 1, .result = &mails, .is_read_only = true},
	{.name = "mail.send", .param = send, .n_params = 2},
	{.name = "web.get", .param = query, .n_params = 1, .result = &words, .is_read_only = true},
};
static const struct tool_set set = {tools, ARRAY_LEN(tools)};

static const char *const policies[] = {
	"trust(user, policy, tool('mail.get', principals = ['@b.c']), plan)\nINTERNAL = ['@b.c', '@d.e']\n"
	"rule('mail.get', effect = read, result = each(origin = 'sender', readers = ['sender']))\n"
	"rule('web.get', effect = read)\nliterals(['INBOX'])\n"
	"rule('mail.send', effect = external, when = trusted | at_most(number), limit = "
	"at_most_per_run(9),\n"
	"     to = control(allow = trusted | approved | ends_with(INTERNAL), otherwise = ask),\n"
	"     body = payload(readers = covers('to'), otherwise = ask))\n"
	"test('mail.send', to = value('ann@b.c', origin = tool('web.get')), body = 'a', expect = allow)\n",
	"deny('mail.send')\ndefaults(annotations)\n",
};

static const char *const plans[] = {
	"def pick(x, *rest, **more):\n    return [y for y in x if y['size'] > 2] + list(rest)\n"
	"ms = mail.get(q='INBOX')\nby = {}\nfor m in pick(ms, *[], z=1):\n"
	"    if m['size'] > 10 ** 30 - 10 ** 30 + 3:\n"
	"        by.setdefault(m['sender'], []).append(m['body'].upper()[1:])\n"
	"for who in sorted(by, key=lambda k: len(by[k])):\n    mail.send(to=who, body='-'.join(by[who]))\n"
	"print(f'{len(ms):>4} {by!r}', '%s|%d' % (set(by), 2 ** 100), json.dumps(by))\n",
	"page = web.get(q='x' * 3)\nn = ask('how many', page, int)\nr = try_call(web.get, q=page)\n"
	"who = approve(page, 'to whom?')\nwhile_ = [i for i in range(n)]\n"
	"a, *b = [1, 2.5, {3: (4, None)}]\n"
	"if n > 1 and r.ok:\n    mail.send(to=member(who, ['ann@b.c', page]), body=str(b))\n"
	"def f(n):\n    for i in range(n):\n        if i == 2: return i\n    return struct(x=n, y=b).x\n"
	"print([f(i) for i in range(4)], {**{'a': 1}, 'b': f(9)}, matches('ab1', '[a-z]+(1|2){1,3}'))\n"
	"print(date.add('2026-11-22', 40), 'a b'.split(), bytes('x'), zip([1], [2]), max([3, 9]))\n",
	"x = [1, 2\nif x: y = = 3\nclass A: pass\n",
	"print(nothing)\nmail.gte(q='a')\nmail.send(too='x')\nfor x in mail.get(q='a'): x.nope()\n",
};

/* What was said, not on the heap. */
struct outcome {
	char text[1 << 15];
	size_t n;
	bool is_said; /* an error */
};

static void say(struct outcome *o, const char *text, size_t bytes)
{
	bytes = MIN(bytes, sizeof o->text - 1 - o->n);
	memcpy(o->text + o->n, text, bytes);
	o->n += bytes;
	o->text[o->n] = '\0';
}

static int print_out(void *ctx, const char *text, size_t bytes)
{
	say(ctx, text, bytes);
	return 0;
}

static uint32_t of_literal(void *ctx, struct val v)
{
	return ground_label(ctx, v);
}

static void say_all(struct outcome *o, const struct source *src, const struct diags *diags)
{
	for (size_t i = 0; i < diags->n; i++) {
		char line[DIAG_MSG_BYTES + 20];
		int n = snprintf(
			line, sizeof line, "%d %s\n", diags->item[i].code, diags->item[i].msg);
		say(o, line, (size_t)n);
		o->is_said = true;
	}
	/* As people and programs get it: whatever comes of it, it comes back. */
	struct buf report = BUF_INIT(1 << 20);
	(void)diags_report(&report, src, diags, false);
	buf_clear(&report);
	(void)diags_report(&report, src, diags, true);
	buf_done(&report);
}

static int answer(struct program *p, const struct policy *policy)
{
	static const char list[] = "[{\"sender\": \"ann@b.c\", \"body\": \"abc\", \"size\": 7}, "
				   "{\"sender\": \"eve@x.y\", \"body\": \"d\", \"size\": 3}]";
	struct plan_call call;
	struct text arguments;
	if (call_read(p, &call) < 0)
		return -1;
	if (call.kind == CALL_APPROVE)
		return call_yes(p, &call);
	if (call.kind == CALL_ASK)
		return call_answer(p, &call, policy, "3", 1);
	struct policy_answer answer[POLICY_ANSWERS_MAX];
	const struct policy_call question = {
		.tool = call.tool, .arg = call.arg, .guard = call.guard};
	(void)policy_decide(policy, &question, answer);
	if (call_arguments(p, &call, &arguments) < 0)
		return -1;
	if (call.is_try)
		return call_error(p, &call, policy, "no", 2);
	return call.tool->result == &mails ? call_answer(p, &call, policy, list, sizeof list - 1)
					   : call_answer(p, &call, policy, "\"ann@b.c\"", 9);
}

static void run(struct program *p, const struct policy *policy, struct outcome *o)
{
	const struct vm_host host = {.ctx = o, .print = print_out};
	struct val result;
	enum vm_state state = program_run(p, &host, &result);
	while (state == VM_CALLED)
		state = answer(p, policy) < 0 ? program_fail(p) : program_resume(p, &result);
	CHECK(state == VM_DONE || p->diags.n > 0);
	say_all(o, &p->src, &p->diags);
}

static void check(struct program *p, const struct policy *policy, struct outcome *o)
{
	struct diags diags = {0};
	struct check c = {.heap = &p->heap,
		.src = p->src,
		.tree = p->tree,
		.policy = policy,
		.request = "tell ann",
		.has_margin = true,
		.diags = &diags};
	struct buf text = BUF_INIT(1 << 20);
	int r = check_plan(&c);
	CHECK(r == 0 || diags.n > 0);
	if (r == 0 && (check_explain(&c, &text) < 0 || check_json(&c, &text) < 0)) {
		CHECK(has_failed);
		say(o, "no memory", 9);
		o->is_said = true;
	}
	say(o, buf_str(&text), text.bytes);
	buf_done(&text);
	say_all(o, &p->src, &diags);
	p->checked = c.calls;
	p->n_checked = c.n_calls;
	if (r == 0)
		run(p, policy, o);
}

static void load(const char *plan, struct policy *policy, struct labels *all, struct outcome *o)
{
	static const char *const own[] = {"plan", "user", "policy"};
	static struct program p;
	const struct source src = {"plan", plan, strlen(plan)};
	const struct heap_limits limits = {.fuel = 1 << 24, .bytes = 64 << 20, .depth = 50};
	const uint64_t seeds[2] = {7, 9};
	struct ground ground = {0};
	struct dialect dialect = DIALECT_PLAN;
	struct program_setup setup = {.tools = &set,
		.labels = all,
		.literals = {.ctx = &ground, .label = of_literal, .numbers = ground.numbers}};
	if (ground_init(&ground, &policy->heap, "tell ann", policy) < 0) {
		o->is_said = has_failed;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		setup.quiet = label_union(
			all, setup.quiet, label_set(all, label_atom(all, own[i], strlen(own[i]))));
	if (program_load_with(&p, &src, &dialect, &limits, seeds, &setup) == 0)
		check(&p, policy, o);
	else
		CHECK(p.diags.n > 0);
	say_all(o, &p.src, &p.diags);
	program_done(&p);
}

/* All of it. What was said along the way, or what it came to, is in @o. */
static void try_all(const char *plan, const char *rules, struct outcome *o)
{
	static struct policy policy;
	struct diags diags = {0};
	const struct source src = {"rules", rules, strlen(rules)};
	size_t n_run;
	o->n = 0;
	o->text[0] = '\0';
	o->is_said = false;
	struct labels *all = labels_new(16 << 20);
	if (!all) {
		o->is_said = has_failed;
		return;
	}
	if (policy_parse(&policy, &src, &set, all, &diags) == 0) {
		(void)policy_test(&policy, &diags, &n_run);
		load(plan, &policy, all, o);
	} else {
		CHECK(diags.n > 0);
	}
	say_all(o, &src, &diags);
	policy_done(&policy);
	labels_free(all);
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
	return strcmp(a->text, b->text) == 0;
}

/* Each allocation fails once: an error is said, or it made no difference; and all is given back. */
static void fail_each(const char *plan, const char *rules)
{
	static struct outcome good, now;
	long n = 0, n_said = 0, n_before = n_held;
	has_failed = false;
	try_all(plan, rules, &good);
	CHECK(!has_failed);
	do {
		has_failed = false;
		countdown = n++;
		try_all(plan, rules, &now);
		countdown = -1;
		n_said += has_failed && now.is_said;
		bool ok = CHECK(now.is_said || is_same(&good, &now));
		if (has_failed && !is_same(&good, &now))
			ok &= CHECK(now.n == 0 || strstr(now.text, "memory"));
		if (!ok)
			fprintf(stderr, "# said: %s\n# not: %s\n", now.text, good.text);
		ok &= CHECK_INT(n_held, n_before);
		if (!ok)
			fprintf(stderr, "# allocation %ld\n%s\n", n - 1, plan);
		if (!ok)
			break;
	} while (has_failed);
	CHECK(n > 20 && n_said > n * 3 / 4);
}

/* GMP ends the process when it gets none, and takes little: see INT_MAX_BITS. */
static void *gmp_take(size_t bytes)
{
	return __real_malloc(bytes);
}

static void *gmp_again(void *p, size_t before, size_t bytes)
{
	(void)before;
	return __real_realloc(p, bytes);
}

static void gmp_give(void *p, size_t bytes)
{
	(void)bytes;
	__real_free(p);
}

TEST(every_allocation_may_fail)
{
	mp_set_memory_functions(gmp_take, gmp_again, gmp_give);
	for (size_t i = 0; i < ARRAY_LEN(plans); i++)
		fail_each(plans[i], policies[0]);
	fail_each(plans[0], policies[1]);
	fail_each("print(1)\n", "rule('mail.get', effect = raed)\n");
}
