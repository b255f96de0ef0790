/* A plan from source to result: the interface of the whole module. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"
#include "plan/machine/compile.h"
#include "plan/syntax/diag.h"

/* A source that was parsed, resolved and compiled, and its run. */
struct program {
	struct heap heap;
	struct source src;
	struct dialect dialect;
	struct diags diags;
	struct node *tree;
	struct code *code;
	struct val *globals; /* code->n_registers values; the first are variables */
	struct vm vm;
	struct literals literals;
	struct check_call *const
		*checked; /* the check's results, one per call; set by the caller */
	uint32_t n_checked;
	bool is_lost; /* the program failed because a call got no answer */
};

#define PROGRAM_LIMITS                                                                             \
	((struct heap_limits){.fuel = UINT64_C(1) << 40, .bytes = (size_t)1 << 30, .depth = 1000})

struct tool_set;

/*
 * List all predeclared names of a plan, which are the same for the check and for the run. @tools:
 * NULL for a plan without tools, which also lacks ask() and the other built-ins of such plans.
 * Returns: the number of names in *out, which @h owns; -1 if a limit of @h is exceeded.
 */
int program_names(struct heap *h, const struct dialect *dialect, const struct tool_set *tools,
	struct predeclared **out);

/*
 * Parse, resolve and compile a plan. @src is borrowed. @seed: 16 bytes that an outsider cannot
 * guess.
 *
 * Owns:    the caller must call program_done(), even after a failure.
 * Returns: 0; -1 with diagnostics in `diags`.
 */
int program_load(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2]) attr_must_use;

/* Options of program_load_with(), which also knows names of the host, and labels. */
struct program_setup {
	const struct predeclared *names;
	size_t n_names;
	const struct tool_set *tools; /* NULL: the plan cannot call tools, ask() and the like */
	struct labels *labels;	      /* NULL: values carry no labels */
	struct literals literals;
	uint32_t quiet; /* see flow_init() */
};
int program_load_with(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2],
	const struct program_setup *setup) attr_must_use;

/* Run the plan from the start. A failure adds a diagnostic of 6xx, and sets vm.trace. */
enum vm_state program_run(struct program *p, const struct vm_host *host, struct val *out);

/* Continue after a call of the host that was answered with vm_answer(). */
enum vm_state program_resume(struct program *p, struct val *out);

/* End the run with the failure of the heap, as if the open call had failed. */
enum vm_state program_fail(struct program *p);

void program_done(struct program *p);
