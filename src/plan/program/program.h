/*
 * A program: a plan from its source to its result. This is the interface of the whole module.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/builtin/builtin.h"
#include "plan/machine/compile.h"
#include "plan/syntax/diag.h"

/* A plan that was parsed, resolved and compiled, and the state of its run. */
struct program {
	struct heap heap;
	struct source src;
	struct dialect dialect;
	struct diags diags;
	struct node *tree;
	struct code *code;
	/* Array of code->n_registers values. The first ones are the variables of the file. */
	struct val *globals;
	struct vm vm;
	struct literals literals;
	/* Results of the check, one per call. The caller sets them after program_load(). */
	struct check_call *const *checked;
	uint32_t n_checked;
	bool is_lost; /* true if the program failed because a call got no answer */
};

#define PROGRAM_LIMITS                                                                             \
	((struct heap_limits){.fuel = UINT64_C(1) << 40, .bytes = (size_t)1 << 30, .depth = 1000})

struct tool_set;

/*
 * List all predeclared names of a plan. They are the same for the check and for the run. @tools is
 * NULL for a plan without tools; such a plan also lacks ask(), approve() and the like.
 * Returns: the number of names in *out, which @h owns; -1 if a limit of @h is exceeded.
 */
int program_names(struct heap *h, const struct dialect *dialect, const struct tool_set *tools,
	struct predeclared **out);

/*
 * Parse, resolve and compile a plan. @src is borrowed. @seed is 16 bytes that an outsider cannot
 * guess.
 *
 * Owns:    the caller must call program_done(), even after a failure.
 * Returns: 0; -1 with diagnostics in `diags`.
 */
int program_load(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2]) attr_must_use;

/* Options of program_load_with(). This function loads a plan like program_load(), but it can
 * also predeclare names of the host, and it can prepare a run with labels. */
struct program_setup {
	const struct predeclared *names;
	size_t n_names;
	/* NULL if the plan may call neither tools nor functions such as ask() */
	const struct tool_set *tools;
	struct labels *labels; /* NULL if values carry no labels */
	struct literals literals;
	/* Set of the origins "plan", "user" and "policy". A condition on data with only these
	 * origins causes no implicit flow, see flow_init(). */
	uint32_t quiet;
};
int program_load_with(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2],
	const struct program_setup *setup) attr_must_use;

/* Run the plan from the start. A failure adds a diagnostic with a code from 601 on, and sets
 * vm.trace. */
enum vm_state program_run(struct program *p, const struct vm_host *host, struct val *out);

/* Continue the run after vm_answer() has given the answer to a call. */
enum vm_state program_resume(struct program *p, struct val *out);

/* End the run with the failure that is recorded in the heap. The machine is waiting for the
 * answer to a call. The run ends as if this call had failed. */
enum vm_state program_fail(struct program *p);

void program_done(struct program *p);
