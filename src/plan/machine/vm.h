/* The register machine that runs compiled code. It suspends when the host must answer a call, such
 * as a call of a tool. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/syntax/dialect.h"
#include "plan/value/function.h"

enum vm_state { VM_DONE, VM_FAILED, VM_CALLED };
enum { VM_TRACE_MAX = 16, VM_METHODS = 64, VM_DEPTH_MAX = 10000 };

struct iter {
	uint32_t kind; /* type of the iterable (enum type); T_UNSET if the iteration has ended */
	union {
		struct list *list;
		struct table *table;
		struct tuple *tuple;
		struct elems *elems;
	};
	uint32_t label; /* label of the iterable's structure */
	int64_t at, left,
		/* T_RANGE: @at is the next number, @left is how many numbers remain. Other
		 * types: @at is the index of the next element. */
		step;
};

struct frame {
	struct function *function;
	struct code *code;
	const struct ins *pc;
	struct val *base; /* registers */
	struct val *dest; /* where the result is stored when the function returns */
	/* The chunk of registers that was in use before this frame was pushed; NULL if there was
	 * none. */
	struct stack_chunk *chunk;
	struct val *sp;
	uint32_t first_iter;
	uint32_t guard; /* guard before the call, which the return restores */
	/* The innermost region that has begun and not yet ended, as an index in code->writes. A
	 * region is code that depends on a condition, see compile_flow.c. */
	uint32_t region;
	bool is_entry; /* the run ends when this frame returns */
};

/* What the host does for a running program, apart from answering its calls. Each function returns
 * 0, or -1 after it set the heap's failure. */
struct vm_host {
	void *ctx;
	int (*print)(void *ctx, const char *text, size_t bytes);
	int (*load)(void *ctx, struct vm *vm, struct val module, struct val name, struct val *out);
};

struct trace {
	struct val function;
	uint32_t at; /* offset in the source */
};

/* An entry of the cache of method look-ups: the method of @type whose name is @name. Names are
 * compared by address. */
struct method_cache {
	const struct str *name;
	uint32_t type;
	const struct native *native;
};

/* A cached result of an operation on the labels @a and @b. */
struct flow_memo {
	uint32_t a, b, result;
};

/* A flow event records that any object may have been changed under a condition with the label
 * `label`. To label all objects at once would be slow. So the event gets a number, `epoch`, and
 * a list, dict or set that was last used before this epoch gets the label at its next use. */
struct flow_event {
	uint32_t label, epoch;
};

enum { FLOW_MEMO = 64 };

/* Labels at run time, see flow.h. */
struct flow_state {
	struct labels *all; /* all labels; NULL if values carry no labels */
	uint32_t quiet;
	uint32_t plain;	    /* a label that flow_made() is known to return unchanged */
	uint32_t silent;    /* a label for which flow_guard() is known to return 0 */
	uint32_t number[4]; /* labels that instructions name by index, see struct literals */
	/* for each kind, the label of that kind with the origin "plan" */
	uint32_t planned[KIND_TEXT + 1];
	const struct literals *literals;
	uint64_t numbers; /* see struct literals */
	uint32_t counted; /* a label that flow_number() is known to return unchanged */
	/* The join of the labels of the results of all functions that the running built-in has
	 * called so far. An example of such a function is the key= function of sorted(). */
	uint32_t called;
	uint32_t n_walks;
	struct flow_event *events;
	uint32_t n_events, event_room;
	struct flow_memo joins[FLOW_MEMO], counts[FLOW_MEMO], made[FLOW_MEMO], caps[FLOW_MEMO],
		guards[FLOW_MEMO], choices[FLOW_MEMO], composed[FLOW_MEMO], whose[FLOW_MEMO],
		fresh[FLOW_MEMO];
};

/* A cached summary of a built-in's parameters. */
struct arity {
	const struct native *native;
	uint8_t n, n_positional, n_required;
};

struct vm {
	struct heap *h;
	const struct vm_host *host;
	struct dialect dialect;
	struct frame *frames;
	uint32_t n_frames, depth_max;
	struct stack_chunk *chunk;
	struct val *sp, *sp_end;
	struct iter *iters;
	uint32_t n_iters, iter_room;
	struct method_cache methods[VM_METHODS];
	struct arity arities[VM_METHODS];
	struct flow_state flow;
	uint32_t n_nested; /* depth of nested runs, which begin when a built-in calls a function */
	/* in the state VM_CALLED: the built-in that the host must answer */
	const struct native *called;
	struct val call_self;
	/* in the state VM_CALLED: the arguments of the call, copied from the registers */
	struct args call_args;
	struct val *call_dest;
	/* in the state VM_FAILED: the open calls, innermost first */
	struct trace trace[VM_TRACE_MAX];
	size_t n_trace;
	/* In the state VM_FAILED: whether the message of the failure may contain data that does
	 * not come from the plan, its user or the policy, such as the result of a tool. */
	bool is_private;
};

/* Initialise the machine. @h and @host must outlive it. Returns: 0 or -1. */
int vm_init(struct vm *vm, struct heap *h, const struct vm_host *host,
	const struct dialect *dialect, uint32_t depth);

/* Prepare to run the code of a file. Its registers are @globals, an array of code->n_registers
 * values. Returns: 0 or -1. */
int vm_start(struct vm *vm, struct code *code, struct val *globals);

/* Run until the program ends (VM_DONE, with the result in *out), fails (VM_FAILED) or calls the
 * host (VM_CALLED). */
enum vm_state vm_run(struct vm *vm, struct val *out);

/* Set the result of the call that suspended the program to @value, with the labels of @value. The
 * caller must then call vm_run(). */
void vm_answer(struct vm *vm, struct val value);

/* Call a function from within a built-in, such as the key= function of sorted(). The function must
 * not call a tool. Returns: 0 or -1. */
int vm_call(struct vm *vm, struct val fn, const struct args *args, struct val *out);

/* Write the open calls into `trace`, innermost first. */
void vm_trace(struct vm *vm);

/* Clear the failure of the heap, and pop all frames but the first @n_frames. */
void vm_unwind(struct vm *vm, uint32_t n_frames);

/* Run an instruction that is not in the fast loop. Returns: 0 or -1. */
int vm_slow(struct vm *vm, const struct frame *f, const struct ins *i);

/* Fail with an internal error, because the compiled code is inconsistent. Returns: -1. */
int vm_broken(struct vm *vm, const struct frame *f, const char *what);

/* Fail, because a variable is read before its first assignment. Returns: -1. */
int vm_unset(struct vm *vm, struct val name, bool is_local);

/* Apply an operation of the language to values of any types. Returns: 0 or -1. */
int op_binary(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out);
int op_augment(struct vm *vm, uint32_t op, struct val a, struct val b, struct val *out);
int op_in(struct vm *vm, struct val x, struct val container, bool *out);
int op_compare(struct vm *vm, uint32_t op, struct val a, struct val b, bool *out);
int op_index(struct vm *vm, struct val x, struct val i, struct val *out);
int op_set_index(struct vm *vm, struct val x, struct val i, struct val v);
int op_slice(struct vm *vm, const struct val part[4], struct val *out);
int op_dot(struct vm *vm, struct val x, struct val name, struct val *out);
int op_unpack(struct vm *vm, struct val x, struct val *out, size_t n, size_t star);

/* Iterate over any iterable. iter_next() returns 1 with an element, 0 at the end, -1 on failure.
 * Every successful iter_start() needs an iter_end(). */
int iter_start(struct vm *vm, struct iter *it, struct val x);
int iter_next(struct vm *vm, struct iter *it, struct val *out);
void iter_end(struct iter *it);

/* Append all elements of @x to @list. Returns: 0 or -1. */
int list_extend(struct vm *vm, struct list *list, struct val x);

/* Store the arguments of a call in the registers of the parameters of @f, which begin at @base.
 * Returns: 0 or -1. */
int bind_args(struct vm *vm, const struct function *f, const struct args *args, struct val *base);
