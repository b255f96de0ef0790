/* Code is looked at before it runs: what the compiler would have computed wrongly ends a plan.
 * SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "label/label.h"
#include "plan/machine/verify.h"
#include "plan/program/program.h"

#include <string.h>

/* Every instruction, and every way in which a variable is held. */
static const char *const texts[] = {
	"a = [1, 2]\nb = {'k': a}\nc = set([1])\na += [3]\nb['k'] = 4\nx, *y = a\nz = (1, *a)\n"
	"a[0] = -1\nw = a[0:2]\nv = f'{x!r:>3}-{y}'\nn = not x\nd = {**b, 'l': 5}\ns = {*a}\n"
	"t = 1 if x > 0 else 2\nfor i in a:\n    if i == 2:\n        continue\n    if i > 2:\n"
	"        break\nr = [i for i in a if i]\nq = {i: 1 for i in a}\np = {i for i in a}\n"
	"g = x + 1\ng = x - 1\ng = 2 * 3 // 1 % 7\ng = ~1 & 2 | 3 ^ 4\ng = +1 << 2 >> 1\ng = 5 / 2\n"
	"g = 2 ** 3\nh = 0 < x < 3\no = x and y or z\n",
	"def f(a, b=1, *c, d=2, **e):\n    n = a\n    def g():\n        return n + a\n"
	"    h = lambda x: [y for y in [x] if y == n]\n    return g() + len(h(1)) + b + d\n"
	"r = f(1, 2, 3, d=4, z=5)\nr = f(*[1], **{'b': 2})\nl = sorted([2, 1], key=lambda x: -x)\n"
	"m = max([[1], [2]], key=lambda x: len([q for q in x if q]))\n"
	"k = [lambda: i for i in [1, 2]]\nr = k[0]()\nwhile r > 0:\n    r -= 1\nt = json.encode(l)\n",
};

static struct program p;
static struct labels *all;

static uint32_t literal(void *ctx, struct val v)
{
	(void)ctx;
	(void)v;
	return 0;
}

static int load(const char *text, bool has_labels)
{
	const struct source src = {"plan", text, strlen(text)};
	const struct heap_limits limits = {.fuel = 20000, .bytes = 4 << 20, .depth = 60};
	const uint64_t seed[2] = {7, 9};
	struct dialect dialect = DIALECT_PLAN;
	dialect.while_loops = true;
	all = labels_new(1 << 20);
	CHECK(all != NULL);
	const struct program_setup setup = {
		.labels = has_labels ? all : NULL, .literals = {.label = literal}};
	return program_load_with(&p, &src, &dialect, &limits, seed, &setup);
}

static void done(void)
{
	program_done(&p);
	labels_free(all);
}

/* May any number stand there? */
static bool is_free(struct ins i, int k)
{
	static const char *const kinds[N_OPS][3] = {
#define X(name, a, b, c) [OP_##name] = {#a, #b, #c},
#include "plan/machine/op.def"
	};
	const char *kind = kinds[i.op][k];
	return strcmp(kind, "NO") == 0 || strcmp(kind, "NUMBER") == 0 ||
		strcmp(kind, "J_NUMBER") == 0 || strcmp(kind, "FORMAT") == 0 ||
		(strcmp(kind, "IN_OR_NUMBER") == 0 && i.c) ||
		(strcmp(kind, "MANY") == 0 && i.c == 0) || strcmp(kind, "IN_OR_END") == 0;
}

static bool is_jump(struct ins i)
{
	return i.op == OP_JUMP || i.op == OP_JUMP_IF || i.op == OP_JUMP_NOT;
}

static bool is_refused(void)
{
	int r = code_verify(&p.heap, p.code);
	bool is_said = strstr(p.heap.msg, "internal error") != NULL;
	p.heap.kind = FAIL_NONE;
	p.heap.msg[0] = '\0';
	p.heap.depth = 0;
	return r < 0 && is_said;
}

static void set_operand(struct ins *i, int k, uint16_t value)
{
	if (k == 0)
		i->a = value;
	else if (k == 1)
		i->b = value;
	else
		i->c = value;
}

static size_t spoil_each(struct code *code)
{
	size_t n = 0;
	for (uint32_t at = 0; at < code->n_ins; at++) {
		struct ins was = code->ins[at];
		for (int k = 0; k < 3; k++) {
			set_operand(&code->ins[at], k, UINT16_MAX);
			if (is_jump(was) && k == 1)
				code->ins[at].j = (int32_t)code->n_ins;
			if (!is_free(was, k)) {
				CHECK(is_refused());
				n++;
			}
			code->ins[at] = was;
		}
		code->ins[at].op = N_OPS;
		CHECK(is_refused());
		code->ins[at] = was;
	}
	for (uint32_t i = 0; i < code->n_functions; i++)
		n += spoil_each(code->functions[i]);
	return n;
}

TEST(a_wrong_operand_is_found_before_the_run)
{
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CHECK_INT(load(texts[i], i == 0), 0);
		n += spoil_each(p.code);
		CHECK(!is_refused());
		done();
	}
	CHECK(n > 200);
}

#define SPOILED(field, value)                                                                      \
	do {                                                                                       \
		__typeof__(field) was_ = (field);                                                  \
		(field) = (value);                                                                 \
		CHECK(is_refused());                                                               \
		(field) = was_;                                                                    \
	} while (0)

TEST(so_is_a_wrong_table)
{
	CHECK_INT(load(texts[1], true), 0);
	struct code *f = p.code->functions[0], *g = f->functions[0];
	CHECK(f->n_cells > 0 && g->n_captures > 0 && p.code->n_writes > 1);
	SPOILED(f->cells[0], f->n_slots);
	SPOILED(g->captures[0].index, f->n_slots);
	SPOILED(g->captures[0].is_local, false);
	SPOILED(f->n_positional, 60);
	SPOILED(f->n_slots, f->n_registers + 1);
	SPOILED(f->n_cells, 0);
	SPOILED(f->n_ins, 0);
	SPOILED(p.code->ins[p.code->n_ins - 1].op, OP_JUMP);
	SPOILED(p.code->shapes[0].n_named, 60000);
	SPOILED(p.code->functions[0]->n_defaults, 60000);
	for (uint32_t i = 1; i < p.code->n_writes; i++) {
		struct writes *w = &p.code->writes[i];
		SPOILED(w->outer, p.code->n_writes);
		SPOILED(w->saved, p.code->n_registers);
		for (uint32_t k = 0; k < w->n; k++) {
			SPOILED(w->item[k].index, 60001);
			SPOILED(w->item[k].where, IN_CAPTURED);
			SPOILED(w->item[k].where, 9);
		}
	}
	CHECK(!is_refused());
	done();
}

static uint64_t state = 1;

static uint32_t pick(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* What passes may still be the wrong register: then the run ends, with an error or not. */
static void run_spoiled(const char *text)
{
	CHECK_INT(load(text, pick(2) == 0), 0);
	struct code *code = p.code;
	while (code->n_functions > 0 && pick(2))
		code = code->functions[pick(code->n_functions)];
	struct ins *i = &code->ins[pick(code->n_ins)], was = *i;
	set_operand(i, (int)pick(3), (uint16_t)pick(code->n_registers));
	bool is_kept = i->op == OP_JUMP || is_jump(was) || code_verify(&p.heap, p.code) < 0;
	const struct vm_host host = {0};
	struct val out;
	if (!is_kept)
		(void)program_run(&p, &host, &out);
	done();
}

TEST(what_a_register_holds_is_looked_at_in_the_run)
{
	for (int i = 0; i < 3000; i++)
		run_spoiled(texts[(size_t)i % ARRAY_LEN(texts)]);
	/* The list that a comprehension fills. */
	CHECK_INT(load("x = [i for i in [1]]\n", true), 0);
	for (uint32_t i = 0; i < p.code->n_ins; i++)
		if (p.code->ins[i].op == OP_APPEND && i > 3)
			p.code->ins[i].a = p.code->ins[i].b;
	const struct vm_host host = {0};
	struct val out;
	CHECK(program_run(&p, &host, &out) == VM_FAILED);
	CHECK(strstr(p.diags.item[0].msg, "internal error") != NULL);
	done();
}
