/* Code, functions, built-ins. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/*
 * The registers of a function are its variables, then temporaries. @a, @b, @c are registers unless
 * op.def says otherwise.
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

/* A write that a region of code may make, see machine/compile_flow.c. */
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
	uint32_t saved;	 /* the register that saves the guard from before the region */
	bool is_unknown; /* anything that was there before may be changed */
	bool is_left;	 /* break, continue or return lead out of it */
};

/* The code of a def or lambda. */
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

/* Label rule of the run: which labels the result of a built-in gets. The default, 0, is the join of
 * all that went in, which is always safe. */
enum native_flow {
	FLOW_WHOLE,	/* everything that is reachable from the arguments and the receiver */
	FLOW_PART,	/* the receiver's; arguments that the plan wrote only select from it */
	FLOW_DATE,	/* as FLOW_WHOLE, of kind date */
	FLOW_DATE_MADE, /* the same; the date differs from those that went in */
	FLOW_DATE_TEXT, /* as FLOW_DATE, if the plan wrote the format; else FLOW_WHOLE */
	FLOW_SHAPE,	/* types and lengths of the arguments; elements keep their own labels */
	FLOW_PLACES,	/* the same; the first of each element is its index */
	FLOW_PICK,	/* as FLOW_SHAPE; the result is an element, not a new value */
	FLOW_CHOICE,	/* as FLOW_WHOLE; the result is one of the arguments, not a new value */
	FLOW_ORDER,	/* as FLOW_WHOLE; named arguments determine the order only */
	FLOW_NAMED,	/* as FLOW_WHOLE; values given by name are kept as they are */
	FLOW_NOTHING,	/* no label beyond those that the value has already */
};
/* Label rule of the run: which labels the structure of a changed receiver gets. */
enum native_change {
	CHANGE_NONE,  /* the method does not change its receiver */
	CHANGE_PLACE, /* the guard of the call */
	CHANGE_FIRST, /* and the whole of the first argument */
	CHANGE_SHAPE, /* and the shape of the arguments */
	CHANGE_ARGS,  /* and the whole of all arguments; of named ones, their names */
	CHANGE_WHOLE, /* and the whole of the receiver */
};
/* Label rule of the check: how the abstract result and the abstract receiver are computed. */
enum native_model {
	MODEL_UNKNOWN, /* the check refuses the call */
	MODEL_TOOL,    /* a tool: its policy decides */
	MODEL_TEXT,    /* a text made of all that went in */
	MODEL_PART,    /* a part of the receiver; constants only select from it */
	MODEL_PARTS,   /* a list of such parts */
	MODEL_NAMES,   /* a list of texts that the plan or the language wrote */
	MODEL_NUMBER,
	MODEL_DATE,
	MODEL_DATE_MADE, /* a date that differs from those that went in */
	MODEL_DATE_TEXT, /* a date, if the plan wrote the format; else a text */
	MODEL_BOOL,
	MODEL_LENGTH,
	MODEL_TRUTH,
	MODEL_LIST, /* a new list of the elements of the arguments */
	MODEL_TUPLE,
	MODEL_SET,
	MODEL_ORDERED, /* a list whose order depends on its elements */
	MODEL_PAIRS,   /* a list of tuples of elements */
	MODEL_RANGE,
	MODEL_EXTREME, /* one of the arguments, or a sum of them */
	MODEL_ANY,     /* any value, made of all that went in */
	MODEL_DICT,
	MODEL_STRUCT,
	MODEL_ENUM, /* a list of the arguments */
	MODEL_NOTHING,
	MODEL_APPROVE,
	MODEL_ASK,
	MODEL_TRY,
	MODEL_ENDORSE,	  /* the value, with an endorsement */
	MODEL_ADD,	  /* from here on, methods; the last argument becomes an element */
	MODEL_EXTEND,	  /* the elements of the arguments become elements */
	MODEL_GET,	  /* an element by its key, or the second argument */
	MODEL_SETDEFAULT, /* the same; the second argument may become an element */
	MODEL_POP,
	MODEL_POPITEM,
	MODEL_LOSE, /* elements are removed, or get another index */
	MODEL_SORT,
	MODEL_VALUES,
	MODEL_ITEMS,
	MODEL_KEYS,
	MODEL_COPY,
	MODEL_UNION, /* a new collection of the elements of the receiver and the arguments */
};
/* What a built-in belongs to; from OF_STRING on, it is a method. */
enum native_of {
	OF_FUNCTION,
	OF_JSON, /* the module `json` */
	OF_DATE, /* the module `date` */
	OF_PLAN, /* only plans with tools have it */
	OF_STRING,
	OF_BYTES,
	OF_LIST,
	OF_DICT,
	OF_SET,
};

/* The arguments of a call, for built-ins that sort them themselves. */
struct args {
	const struct val *item;
	size_t n;
	const struct val *names; /* strings, of `named` */
	const struct val *named;
	size_t n_named;
};

/*
 * A built-in function or method: a row of builtin/builtin.def, or a tool. With `params`, the
 * arguments are sorted into one array. `params` are words: "x" required, "x?" optional (T_UNSET
 * when absent); those before "/" cannot be given by name, those behind "*" only by name. Without
 * `params`, `raw` gets the arguments as the call passes them.
 * Returns: 0, or -1 with the failure of the heap set.
 */
struct native {
	const char *name;
	const char *params;
	int (*fn)(struct vm *vm, struct val self, const struct val *arg, struct val *out);
	int (*raw)(struct vm *vm, struct val self, const struct args *args, struct val *out);
	bool is_python; /* only the dialect of Python has it */
	bool suspends;	/* the host answers: see vm_run() */
	uint8_t flow;	/* enum native_flow */
	uint8_t change; /* enum native_change */
	uint8_t model;	/* enum native_model */
	uint8_t of;	/* enum native_of */
};

/* The method of @type called @name. Returns: NULL when the dialect has none. */
const struct native *native_method(const struct vm *vm, uint32_t type, struct val name);

/* Call a built-in, without labels. Returns: 0 or -1. */
int native_run(struct vm *vm, const struct native *native, struct val self, const struct args *args,
	struct val *out);
