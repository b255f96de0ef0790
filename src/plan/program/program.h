/* A plan from source to result: the whole of the module behind one interface.
 * SPDX-License-Identifier: Apache-2.0 */
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
	struct val *globals; /* code->n_registers: variables first */
	struct vm vm;
	struct literals literals;
	struct check_call *const *checked; /* the check's results, by call; set by the caller */
	uint32_t n_checked;
	bool is_lost; /* no answer came to the call that it failed with */
};

#define PROGRAM_LIMITS                                                                             \
	((struct heap_limits){.fuel = UINT64_C(1) << 40, .bytes = (size_t)1 << 30, .depth = 1000})

struct tool_set;

/*
 * All predeclared names of a plan, the same for the check and for the run. @tools: NULL for a plan
 * without tools, which lacks ask() and the like as well.
 * Returns: how many, in *out, which @h owns; -1 over a limit of @h.
 */
int program_names(struct heap *h, const struct dialect *dialect, const struct tool_set *tools,
	struct predeclared **out);

/*
 * Parse, resolve and compile. @src and @host are borrowed; @seed: 16 bytes no outsider can guess;
 * @more: names of the host beside the built-in ones.
 *
 * Owns:    program_done() also after a failure.
 * Returns: 0, or -1: with diagnostics in `diags`.
 */
int program_load(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2]) attr_must_use;

/* The same with names of the host, and with labels. */
struct program_setup {
	const struct predeclared *names;
	size_t n_names;
	const struct tool_set *tools; /* NULL: no calls of tools, nor ask() and the like */
	struct labels *labels;	      /* NULL: values carry none */
	struct literals literals;
	uint32_t quiet; /* see flow_init() */
};
int program_load_with(struct program *p, const struct source *src, const struct dialect *dialect,
	const struct heap_limits *limits, const uint64_t seed[2],
	const struct program_setup *setup) attr_must_use;

/* Run from the start. A failure is a diagnostic of 6xx, and vm.trace. */
enum vm_state program_run(struct program *p, const struct vm_host *host, struct val *out);

/* Go on behind a call of the host that was answered with vm_answer(). */
enum vm_state program_resume(struct program *p, struct val *out);

/* End with the failure of the heap, as if the call that is open had failed. */
enum vm_state program_fail(struct program *p);

void program_done(struct program *p);
