/* The machine that runs code. It suspends at a call that the host must answer.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"
#include "plan/syntax/dialect.h"
#include "plan/value/function.h"

enum vm_state { VM_DONE, VM_FAILED, VM_CALLED };
enum { VM_TRACE_MAX = 16, VM_METHODS = 64, VM_DEPTH_MAX = 10000 };

struct iter {
	uint32_t kind; /* enum type; T_UNSET: ended */
	union {
		struct list *list;
		struct table *table;
		struct tuple *tuple;
		struct elems *elems;
	};
	uint32_t label; /* label of the iterable's structure */
	int64_t at, left,
		step; /* T_RANGE: next number, numbers left, step; otherwise `at` is an index */
};

struct frame {
	struct function *function;
	struct code *code;
	const struct ins *pc;
	struct val *base;	   /* registers */
	struct val *dest;	   /* destination of the result, in the caller */
	struct stack_chunk *chunk; /* chunk of the registers before this frame */
	struct val *sp;
	uint32_t first_iter;
	uint32_t guard;	 /* with labels: the guard at the call */
	uint32_t region; /* innermost open region, an index in code->writes */
	bool is_entry;	 /* the return of this frame ends the run */
};

/* The host of a program: its only outputs. Each function returns 0, or -1 after it set the heap's
 * failure. */
struct vm_host {
	void *ctx;
	int (*print)(void *ctx, const char *text, size_t bytes);
	int (*load)(void *ctx, struct vm *vm, struct val module, struct val name, struct val *out);
};

struct trace {
	struct val function;
	uint32_t at; /* offset in the source */
};

/* Inline cache of method look-ups: the method that a name means for a type. The key is the address
 * of the name's text. */
struct method_cache {
	const struct str *name;
	uint32_t type;
	const struct native *native;
};

/* A memo of a label operation. */
struct flow_memo {
	uint32_t a, b, result;
};

/* A change of an unknown object: every object older than `epoch` gets the label. */
struct flow_event {
	uint32_t label, epoch;
};

enum { FLOW_MEMO = 64 };

/* Labels at run time, see flow.h. */
struct flow_state {
	struct labels *all; /* NULL: values carry no labels */
	uint32_t quiet;
	uint32_t plain;			 /* last label seen that has no endorsements */
	uint32_t silent;		 /* last label seen that imposes no guard */
	uint32_t number[4];		 /* labels of small literals */
	uint32_t planned[KIND_TEXT + 1]; /* by kind: label of values that the plan computed */
	const struct literals *literals;
	uint64_t numbers; /* see struct literals */
	uint32_t counted; /* last label seen of computed numbers */
	uint32_t called;  /* join of the labels of the results of the built-in's callees */
	uint32_t n_walks;
	struct flow_event *events;
	uint32_t n_events, event_room;
	struct flow_memo joins[FLOW_MEMO], counts[FLOW_MEMO], made[FLOW_MEMO], caps[FLOW_MEMO],
		guards[FLOW_MEMO], choices[FLOW_MEMO], composed[FLOW_MEMO], whose[FLOW_MEMO],
		fresh[FLOW_MEMO];
};

/* The number of arguments that a built-in accepts by position. */
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
	uint32_t n_nested;	     /* number of nested runs: built-ins that call functions */
	const struct native *called; /* VM_CALLED: the built-in that the host must answer */
	struct val call_self;
	struct args call_args; /* copies of the positional and named arguments */
	struct val *call_dest;
	struct trace trace[VM_TRACE_MAX]; /* VM_FAILED: the open calls, innermost first */
	size_t n_trace;
	bool is_private; /* VM_FAILED: the message may contain data of others */
};

/* Initialise the machine. @h and @host must outlive it. Returns: 0 or -1. */
int vm_init(struct vm *vm, struct heap *h, const struct vm_host *host,
	const struct dialect *dialect, uint32_t depth);

/* Start @code, whose first registers are the globals: @globals has n_registers values. */
int vm_start(struct vm *vm, struct code *code, struct val *globals);

/* Run until the program ends, fails or calls the host; *out gets the result. */
enum vm_state vm_run(struct vm *vm, struct val *out);

/* Answer the open call: its result is @value, with the labels of @value. Then call vm_run(). */
void vm_answer(struct vm *vm, struct val value);

/* Call a value of the language from a built-in. The call cannot suspend. Returns: 0 or -1. */
int vm_call(struct vm *vm, struct val fn, const struct args *args, struct val *out);

/* Write the open calls into `trace`, innermost first. */
void vm_trace(struct vm *vm);

/* Clear a failure, and pop the frames above @n_frames. */
void vm_unwind(struct vm *vm, uint32_t n_frames);

/* Run an instruction that the fast loop does not handle. Returns: 0 or -1. */
int vm_slow(struct vm *vm, const struct frame *f, const struct ins *i);

/* Stop the run, because the compiled code is inconsistent. Returns: -1. */
int vm_broken(struct vm *vm, const struct frame *f, const char *what);

/* Report that a variable has no value. Returns: -1. */
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

/* Iterate over any iterable. iter_next() returns 1 with an element, 0 at the end, -1 on failure. */
int iter_start(struct vm *vm, struct iter *it, struct val x);
int iter_next(struct vm *vm, struct iter *it, struct val *out);
void iter_end(struct iter *it);

/* Append all elements of @x to the list. Returns: 0 or -1. */
int list_extend(struct vm *vm, struct list *list, struct val x);

/* Bind the arguments to the registers of a function. Returns: 0 or -1. */
int bind_args(struct vm *vm, const struct function *f, const struct args *args, struct val *base);
