/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/program.h"

#include "plan/flow.h"

#include <stdio.h>
#include <string.h>

enum {
	P_LIMIT = 109,
	P_ERROR = 601,
	P_FUEL = 602,
	P_MEMORY = 603,
	P_DEPTH = 604,
	P_FLOW = 605,
	NAMES_MAX = 256
};

static int code_of(enum fail_kind kind)
{
	return kind == FAIL_FUEL      ? P_FUEL
		: kind == FAIL_MEMORY ? P_MEMORY
		: kind == FAIL_DEPTH  ? P_DEPTH
		: kind == FAIL_FLOW   ? P_FLOW
				      : P_ERROR;
}

/* A limit that was reached before the program ran. */
static int load_failed(struct program *p)
{
	struct diag d = {.code = P_LIMIT};
	if (p->heap.kind != FAIL_NONE) {
		(void)snprintf(d.msg, sizeof d.msg, "%.200s", p->heap.msg);
		(void)diag_add(&p->diags, &p->src, &d);
	}
	return -1;
}

int program_load_with(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2], const struct program_setup *setup)
{
	struct predeclared names[NAMES_MAX];
	*p = (struct program){.src = *src, .dialect = *dialect};
	heap_init(&p->heap, limits, seed);
	p->heap.is_python = dialect->python_names;
	size_t n = builtin_names(dialect, names, NAMES_MAX);
	int n_modules =
		dialect->python_names ? module_names(&p->heap, names + n, NAMES_MAX - n) : 0;
	if (n_modules < 0)
		return load_failed(p);
	n += (size_t)n_modules;
	for (size_t i = 0; i < setup->n_names && n < NAMES_MAX; i++)
		names[n++] = setup->names[i];
	p->literals = setup->literals;
	if (tree_parse(&p->heap, &p->src, &p->dialect, &p->diags, &p->tree) < 0 ||
		tree_resolve(&p->heap, &p->src, &p->dialect, names, n, &p->diags, p->tree) < 0)
		return load_failed(p);
	p->code = compile_file(&p->heap, p->tree, &p->dialect, setup->labels ? &p->literals : NULL);
	if (!p->code)
		return load_failed(p);
	p->globals = heap_zero(&p->heap, p->code->n_registers * sizeof *p->globals);
	uint32_t depth = MIN(limits->depth, (uint32_t)VM_DEPTH_MAX);
	if (!p->globals || vm_init(&p->vm, &p->heap, NULL, &p->dialect, depth) < 0)
		return load_failed(p);
	if (setup->labels)
		flow_init(&p->vm, setup->labels, setup->quiet, p->literals.number);
	return 0;
}

int program_load(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2])
{
	return program_load_with(p, src, dialect, limits, seed, &(const struct program_setup){0});
}

static enum vm_state finish(struct program *p, enum vm_state state)
{
	if (state != VM_FAILED)
		return state;
	struct diag d = {.code = code_of(p->heap.kind)};
	if (p->vm.n_trace > 0)
		d.start = d.end = p->vm.trace[0].at;
	(void)snprintf(d.msg, sizeof d.msg, "%.250s", p->heap.msg);
	(void)diag_add(&p->diags, &p->src, &d);
	return state;
}

enum vm_state program_run(struct program *p, const struct vm_host *host, struct val *out)
{
	*out = VAL_NONE;
	p->vm.host = host;
	if (vm_start(&p->vm, p->code, p->globals) < 0)
		return finish(p, VM_FAILED);
	return program_resume(p, out);
}

enum vm_state program_resume(struct program *p, struct val *out)
{
	return finish(p, vm_run(&p->vm, out));
}

void program_done(struct program *p)
{
	heap_done(&p->heap);
}
