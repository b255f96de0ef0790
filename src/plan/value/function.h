/* Code, functions, built-ins. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/*
 * Registers are the variables of a function first, then what its expressions need. @a, @b, @c are
 * registers unless the table of op.def says otherwise.
 */
struct ins {
	uint8_t op, x;
	uint16_t a;
	union {
		struct {
			uint16_t b, c;
		};
		int32_t j; /* a jump, from the next instruction; a number; a place in `consts` */
	};
};

struct capture {
	bool is_local; /* of the function that makes it; else one that it has captured itself */
	uint32_t index;
};

/* How a call passes arguments that are not just positional. */
struct call_shape {
	uint32_t n_positional, n_named;
	bool has_star, has_starstar;
	struct val *names; /* n_named strings */
};

/* What a region of code that may not be run writes. */
enum write_what {
	WRITE_NAME,   /* a variable gets another value */
	WRITE_VALUE,  /* the list, dict or set in it may change */
	WRITE_WITHIN, /* so may all that is reachable from it */
	WRITE_CALL,   /* it may be called */
};
enum write_where { IN_REGISTER, IN_CELL, IN_CAPTURED, IN_GLOBAL };
struct write {
	uint8_t what, where;
	uint32_t index;
};
struct writes {
	struct write *item;
	uint32_t n, room;
	uint32_t outer;	 /* the region around it, in `writes` */
	uint32_t saved;	 /* the register that keeps what guarded the place before */
	bool is_unknown; /* anything that was there before may be changed */
	bool is_left;	 /* break, continue or return lead out of it */
};

/* What a def or lambda is compiled to. */
struct code {
	struct val name;
	struct ins *ins;
	uint32_t *at; /* per instruction: offset in the source */
	uint32_t n_ins;
	struct val *consts;
	uint32_t n_consts;
	struct code **functions;
	uint32_t n_functions;
	struct call_shape *shapes;
	uint32_t n_shapes;
	uint32_t n_slots, n_registers;
	struct val *slot_names; /* strings: of variables */
	struct val *params;	/* strings: positional, then keyword-only, *args, **kwargs */
	uint32_t n_positional, n_named_only;
	bool has_args, has_kwargs;
	uint32_t n_defaults; /* registers that MKFUNC reads; T_UNSET: required */
	uint32_t *cells;     /* slots that nested functions see */
	uint32_t n_cells;
	struct capture *captures;
	uint32_t n_captures;
	uint32_t n_active;     /* calls that go on: more than one is recursion */
	struct writes *writes; /* with labels: the regions; the first is the whole */
	uint32_t n_writes;
	bool changes_others; /* it may change lists, dicts and sets that it has not made */
};

struct function {
	struct code *code;
	struct val *globals;
	struct val *defaults; /* of the last positional and of the keyword-only parameters */
	uint32_t n_defaults;
	struct cell **cells;
	uint32_t n_cells;
	bool is_frozen;
	const struct module *module;
};

struct vm;

/* What the result of a built-in depends on; the default is the safe one. */
enum native_flow {
	FLOW_WHOLE,	/* all that is reachable from its arguments */
	FLOW_PART,	/* of its receiver; what the plan gives only chooses what of it */
	FLOW_DATE,	/* as FLOW_WHOLE, but as much as a date says */
	FLOW_DATE_MADE, /* the same, and another date than those that went in */
	FLOW_DATE_TEXT, /* the same when the plan says how it is written */
	FLOW_SHAPE,	/* what they are and how long; elements keep their own labels */
	FLOW_PLACES,	/* the same, and the first of each element says its place */
	FLOW_PICK,	/* as FLOW_SHAPE, and the result is not new but an element */
	FLOW_CHOICE,	/* as FLOW_WHOLE, and not new */
	FLOW_ORDER,	/* as FLOW_WHOLE, but named arguments only say in which order */
	FLOW_NAMED, /* as FLOW_WHOLE, but named arguments are kept, and only their names say more */
	FLOW_NOTHING, /* it is what it is */
};
/* What the change of the receiver depends on. */
enum native_change {
	CHANGE_NONE,
	CHANGE_PLACE, /* where the call stands */
	CHANGE_FIRST, /* and the whole of the first argument */
	CHANGE_SHAPE,
	CHANGE_ARGS,  /* the whole of all arguments, of those by name which there are */
	CHANGE_WHOLE, /* and of the receiver */
};

/* What a built-in gets when it wants arguments as they came. */
struct args {
	const struct val *item;
	size_t n;
	const struct val *names; /* strings, of `named` */
	const struct val *named;
	size_t n_named;
};

/*
 * A built-in function or method. With `params`, "x y? *rest" words, arguments are sorted into one
 * array: "?" optional (T_UNSET when it is not there), "/" those before have no name, "*" those
 * behind have only names. Without, `raw` gets them as they came.
 * Returns: 0, or -1 with the failure of the heap set.
 */
struct native {
	const char *name;
	const char *params;
	int (*fn)(struct vm *vm, struct val self, const struct val *arg, struct val *out);
	int (*raw)(struct vm *vm, struct val self, const struct args *args, struct val *out);
	bool is_python; /* of that dialect only */
	bool suspends;	/* the host answers: see vm_run() */
	uint8_t flow;	/* enum native_flow */
	uint8_t change; /* enum native_change */
};

/* The method of @type called @name. Returns: NULL when the dialect has none. */
const struct native *native_method(const struct vm *vm, uint32_t type, struct val name);

/* Call a built-in, without labels. Returns: 0 or -1. */
int native_run(struct vm *vm, const struct native *native, struct val self, const struct args *args,
	struct val *out);
