/* Code, functions and built-ins. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* One instruction. The first registers of a function are its variables, followed by temporaries.
 * @a, @b and @c are registers unless op.def says otherwise. */
struct ins {
	uint8_t op, x;
	uint16_t a;
	union {
		struct {
			uint16_t b, c;
		};
		int32_t j; /* jump from the next instruction; a number; an index in `consts` */
	};
};

struct capture {
	bool is_local; /* variable of the enclosing function; false: one that it captured */
	uint32_t index;
};

/* The arguments of a call that are not all positional. */
struct call_shape {
	uint32_t n_positional, n_named;
	bool has_star, has_starstar;
	struct val *names; /* names of the n_named named arguments, as strings */
};

/* A write that a region of code may make, see machine/compile_flow.c. */
enum write_what {
	WRITE_NAME,   /* assign another value to the variable */
	WRITE_VALUE,  /* change the variable's list, dict or set */
	WRITE_WITHIN, /* change any object reachable from the variable */
	WRITE_CALL,   /* call the variable's function */
};
enum write_where { IN_REGISTER, IN_CELL, IN_CAPTURED, IN_GLOBAL };
struct write {
	uint8_t what, where;
	uint32_t index;
};
struct writes {
	struct write *item;
	uint32_t n, room;
	uint32_t outer;	 /* enclosing region, an index in `writes` */
	uint32_t saved;	 /* register that saves the guard from before the region */
	bool is_unknown; /* the region may change any object that existed before it */
	bool is_left;	 /* a break, continue or return may leave the region */
};

/* The code of a file, def or lambda. */
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
	struct val *slot_names; /* names of the variables, as strings */
	struct val *params;	/* names: positional, keyword-only, *args, then keyword arguments */
	uint32_t n_positional, n_named_only;
	bool has_args, has_kwargs;
	uint32_t n_defaults; /* registers that FUNCTION reads as defaults; T_UNSET: required */
	uint32_t *cells;     /* slots of variables that nested functions capture */
	uint32_t n_cells;
	struct capture *captures;
	uint32_t n_captures;
	uint32_t n_active;     /* number of open calls: more than one is recursion */
	struct writes *writes; /* with labels: the regions; the first is the whole function */
	uint32_t n_writes;
	bool changes_others; /* may change containers that it did not create */
};

struct function {
	struct code *code;
	struct val *globals;
	struct val
		*defaults; /* defaults of the last positional and of the keyword-only parameters */
	uint32_t n_defaults;
	struct cell **cells;
	uint32_t n_cells;
	bool is_frozen;
	const struct module *module;
};

struct vm;

/* Label rule of the run: the labels that the result of a built-in gets. The default, 0, is the join
 * of all inputs, which is always safe. */
enum native_flow {
	FLOW_WHOLE, /* labels of everything reachable from the arguments and the receiver */
	FLOW_PART,  /* labels of the receiver; arguments that the plan wrote only select from it */
	FLOW_DATE,  /* as FLOW_WHOLE, of kind date */
	FLOW_DATE_MADE, /* as FLOW_DATE; the date differs from the input dates */
	FLOW_DATE_TEXT, /* as FLOW_DATE if the plan wrote the format; else as FLOW_WHOLE */
	FLOW_SHAPE,	/* labels of the arguments' types and lengths; elements keep their own */
	FLOW_PLACES,	/* as FLOW_SHAPE; the first item of each element is its index */
	FLOW_PICK,	/* as FLOW_SHAPE; the result is an element, not a new value */
	FLOW_CHOICE,	/* as FLOW_WHOLE; the result is one of the arguments, not a new value */
	FLOW_ORDER,	/* as FLOW_WHOLE; named arguments only determine the order */
	FLOW_NAMED,	/* as FLOW_WHOLE; named arguments keep their own labels */
	FLOW_NOTHING,	/* no label in addition to those of the value */
};
/* Label rule of the run: the labels that the structure of a changed receiver gets. */
enum native_change {
	CHANGE_NONE,  /* none: the method does not change its receiver */
	CHANGE_PLACE, /* the guard of the call, as in all rules below */
	CHANGE_FIRST, /* also everything reachable from the first argument, as a choice */
	CHANGE_SHAPE, /* also the structure of the arguments */
	CHANGE_ARGS,  /* also everything reachable from the arguments, and argument names */
	CHANGE_WHOLE, /* also everything reachable from the receiver and the arguments */
};
/* Label rule of the check: how the abstract result and the abstract receiver are computed. */
enum native_model {
	MODEL_UNKNOWN, /* the check refuses the call */
	MODEL_TOOL,    /* a tool: its policy decides */
	MODEL_TEXT,    /* a text computed from all inputs */
	MODEL_PART,    /* a part of the receiver; constant arguments only select from it */
	MODEL_PARTS,   /* a list of parts of the receiver */
	MODEL_NAMES,   /* a list of texts that the plan or the language wrote */
	MODEL_NUMBER,
	MODEL_DATE,
	MODEL_DATE_MADE, /* a date that differs from the input dates */
	MODEL_DATE_TEXT, /* a date if the plan wrote the format; else a text */
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
	MODEL_ANY,     /* any value, computed from all inputs */
	MODEL_DICT,
	MODEL_STRUCT,
	MODEL_ENUM, /* a list of the arguments */
	MODEL_NOTHING,
	MODEL_APPROVE,
	MODEL_ASK,
	MODEL_TRY,
	MODEL_ENDORSE,	  /* the value, with an endorsement */
	MODEL_ADD,	  /* only methods from here on; the last argument becomes an element */
	MODEL_EXTEND,	  /* the elements of the arguments become elements */
	MODEL_GET,	  /* an element by its key, or the second argument */
	MODEL_SETDEFAULT, /* as MODEL_GET; the second argument may become an element */
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
/* The owner of a built-in: a module or a type. From OF_STRING on, the built-in is a method. */
enum native_of {
	OF_FUNCTION,
	OF_JSON, /* the module `json` */
	OF_DATE, /* the module `date` */
	OF_PLAN, /* only in plans with tools */
	OF_STRING,
	OF_BYTES,
	OF_LIST,
	OF_DICT,
	OF_SET,
};

/* The arguments of a call, for built-ins that sort the arguments themselves. */
struct args {
	const struct val *item;
	size_t n;
	const struct val *names; /* names of the values in `named`, as strings */
	const struct val *named;
	size_t n_named;
};

/*
 * A built-in function or method: a row of builtin/builtin.def, or a tool. If `params` is set, the
 * arguments are sorted into one array. `params` is a list of words: "x" is a required parameter,
 * "x?" an optional one (T_UNSET when absent); parameters before "/" are positional-only, parameters
 * after "*" keyword-only. If `params` is NULL, `raw` gets the arguments as the call passes them.
 * Returns: `fn` and `raw` return 0, or -1 with the failure of the heap set.
 */
struct native {
	const char *name;
	const char *params;
	int (*fn)(struct vm *vm, struct val self, const struct val *arg, struct val *out);
	int (*raw)(struct vm *vm, struct val self, const struct args *args, struct val *out);
	bool is_python; /* only the dialect of Python has the built-in */
	bool suspends;	/* the program suspends, and the host answers: see vm_run() */
	uint8_t flow;	/* enum native_flow */
	uint8_t change; /* enum native_change */
	uint8_t model;	/* enum native_model */
	uint8_t of;	/* enum native_of */
};

/* Find the method @name of @type. Returns: NULL if the dialect has no such method. */
const struct native *native_method(const struct vm *vm, uint32_t type, struct val name);

/* Call a built-in, without labels. Returns: 0 or -1. */
int native_run(struct vm *vm, const struct native *native, struct val self, const struct args *args,
	struct val *out);
