/* Load and run a plan. SPDX-License-Identifier: Apache-2.0 */
#include "plan/program/program.h"

#include "plan/machine/flow.h"
#include "plan/machine/verify.h"
#include "plan/program/call.h"

#include <stdio.h>
#include <string.h>

static int code_of(enum fail_kind kind)
{
	return kind == FAIL_FUEL      ? P_FUEL
		: kind == FAIL_MEMORY ? P_MEMORY
		: kind == FAIL_DEPTH  ? P_DEPTH
		: kind == FAIL_FLOW   ? P_CHANGE
		: kind == FAIL_TOOL   ? P_TOOL_ERROR
				      : P_ERROR;
}

/* Add a diagnostic if a limit was exceeded before the program ran. Returns: -1. */
static int load_failed(struct program *p)
{
	struct diag d = {.code = P_LIMIT};
	if (p->heap.kind != FAIL_NONE) {
		snprintf(d.msg, sizeof d.msg, "%.200s", p->heap.msg);
		(void)diag_add(&p->diags, &p->src, &d);
	}
	return -1;
}

int program_names(struct heap *h, const struct dialect *dialect, const struct tool_set *tools,
	struct predeclared **out)
{
	size_t room = BUILTIN_MAX + (tools ? tools->n : 0);
	struct predeclared *names = heap_alloc(h, room * sizeof *names);
	int n = names ? builtin_names(h, dialect, tools != NULL, names, room) : -1;
	if (n < 0)
		return -1;
	int more = tools ? tool_names(h, tools, names + n, room - (size_t)n) : 0;
	*out = names;
	return more < 0 ? -1 : n + more;
}

/* Collect the names that every plan has, and those of @setup. Returns: the number of names; -1
 * if a limit is exceeded. */
static int all_names(struct program *p, const struct program_setup *setup, struct predeclared **out)
{
	int n = program_names(&p->heap, &p->dialect, setup->tools, out);
	if (n < 0 || setup->n_names == 0)
		return n;
	struct predeclared *names =
		heap_alloc(&p->heap, ((size_t)n + setup->n_names) * sizeof *names);
	if (!names)
		return -1;
	memcpy(names, *out, (size_t)n * sizeof *names);
	memcpy(names + n, setup->names, setup->n_names * sizeof *names);
	*out = names;
	return n + (int)setup->n_names;
}

int program_load_with(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2], const struct program_setup *setup)
{
	struct predeclared *names;
	*p = (struct program){.src = *src, .dialect = *dialect};
	heap_init(&p->heap, limits, seed);
	p->heap.is_python = dialect->python_names;
	int n = all_names(p, setup, &names);
	if (n < 0)
		return load_failed(p);
	p->literals = setup->literals;
	if (tree_parse(&p->heap, &p->src, &p->dialect, &p->diags, &p->tree) < 0 ||
		tree_resolve(&p->heap, &p->src, &p->dialect, names, (size_t)n, &p->diags, p->tree) <
			0)
		return load_failed(p);
	p->code = compile_file(&p->heap, p->tree, &p->dialect, setup->labels ? &p->literals : NULL);
	if (!p->code || code_verify(&p->heap, p->code) < 0)
		return load_failed(p);
	p->globals = heap_zero(&p->heap, p->code->n_registers * sizeof *p->globals);
	uint32_t depth = MIN(limits->depth, (uint32_t)VM_DEPTH_MAX);
	if (!p->globals || vm_init(&p->vm, &p->heap, NULL, &p->dialect, depth) < 0)
		return load_failed(p);
	if (setup->labels)
		flow_init(&p->vm, setup->labels, setup->quiet, &p->literals);
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
	/* If memory for labels is exhausted, any other message is only a consequence. */
	if (p->vm.flow.all && labels_has_failed(p->vm.flow.all)) {
		p->heap.kind = FAIL_NONE;
		(void)heap_fail_kind(
			&p->heap, FAIL_MEMORY, "out of memory: too many different labels");
	}
	struct diag d = {.code = p->is_lost ? P_LOST : code_of(p->heap.kind),
		.is_private = p->vm.is_private};
	if (p->vm.n_trace > 0)
		d.start = d.end = p->vm.trace[0].at;
	snprintf(d.msg, sizeof d.msg, "%.250s", p->heap.msg);
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

enum vm_state program_fail(struct program *p)
{
	vm_trace(&p->vm);
	return finish(p, VM_FAILED);
}

void program_done(struct program *p)
{
	heap_done(&p->heap);
}
