/* Compiled code, function values, and the built-ins that a plan may call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/value/value.h"

/* One instruction of the register machine. The first registers of a function hold its variables,
 * the others are temporaries. @a, @b and @c are register numbers unless op.def says otherwise. */
struct ins {
	uint8_t op, x;
	uint16_t a;
	union {
		struct {
			uint16_t b, c;
		};
		/* @j takes the place of @b and @c. It is a number, an index in a table, or the
		 * distance of a jump, counted from the next instruction. */
		int32_t j;
	};
};

struct capture {
	/* If true, the variable is in the register @index of the enclosing function. If false,
	 * the enclosing function has captured the variable, too: it is in cells[@index] of that
	 * function. */
	bool is_local;
	uint32_t index;
};

/* The form of a call that has named arguments, *args or **kwargs. */
struct call_shape {
	uint32_t n_positional, n_named;
	bool has_star, has_starstar;
	struct val *names; /* n_named strings: the names of the named arguments */
};

/* How a region of code may change a variable or its value. machine/compile_flow.c explains
 * regions. */
enum write_what {
	WRITE_NAME,   /* the variable may get another value */
	WRITE_VALUE,  /* the list, dict or set in the variable may change */
	WRITE_WITHIN, /* any object reachable from the variable may change */
	WRITE_CALL,   /* the function in the variable may be called */
};
enum write_where { IN_REGISTER, IN_CELL, IN_CAPTURED, IN_GLOBAL };
struct write {
	uint8_t what, where;
	uint32_t index;
};
struct writes {
	struct write *item;
	uint32_t n, room;
	uint32_t outer;	 /* index of the enclosing region in code->writes */
	uint32_t saved;	 /* register that saves the guard at the beginning of the region */
	bool is_unknown; /* the region may change any existing object, not only those in `item` */
	bool is_left;	 /* a break, continue or return may leave the region early */
};

/* The compiled code of a file, def or lambda. */
struct code {
	struct val name;
	struct ins *ins;
	uint32_t *at; /* source offset of each instruction */
	uint32_t n_ins;
	struct val *consts;
	uint32_t n_consts;
	struct code **functions;
	uint32_t n_functions;
	struct call_shape *shapes;
	uint32_t n_shapes;
	uint32_t n_slots, n_registers;
	struct val *slot_names; /* names of the variables, as strings, by register */
	struct val *params; /* names of the parameters: positional, *args, keyword-only, **kwargs */
	uint32_t n_positional, n_named_only;
	bool has_args, has_kwargs;
	/* OP_FUNCTION reads the default values from this many registers. The default of a
	 * required keyword-only parameter is T_UNSET. */
	uint32_t n_defaults;
	uint32_t *cells; /* registers of the variables that nested functions capture */
	uint32_t n_cells;
	struct capture *captures;
	uint32_t n_captures;
	uint32_t n_active; /* calls that have not returned; more than 1 means recursion */
	/* The write sets of all regions. The first region is the whole function. NULL if values
	 * carry no labels. */
	struct writes *writes;
	uint32_t n_writes;
	bool changes_others; /* a call of this code may change containers that it did not create */
};

struct function {
	struct code *code;
	struct val *globals;
	/* Defaults of the last positional parameters, followed by those of the keyword-only
	 * parameters. */
	struct val *defaults;
	uint32_t n_defaults;
	struct cell **cells;
	uint32_t n_cells;
	bool is_frozen;
	const struct module *module;
};

struct vm;

/* How a run labels the result of a built-in. The inputs are the receiver and the arguments. The
 * default, FLOW_WHOLE, joins the labels of all inputs, which is always safe. */
enum native_flow {
	FLOW_WHOLE, /* the result gets the labels of everything reachable from the inputs */
	FLOW_PART,  /* the result is a part of the receiver; the arguments only choose the part */
	/* The result is a date. It gets the labels of everything reachable from the inputs, but
	 * the kind of the label is lowered to date. */
	FLOW_DATE,
	/* The result is a new date, which the plan computed, as by date.add(). It is labelled as
	 * with FLOW_DATE, and it also gets the origin "plan", unless the request or the policy
	 * contains this date (see flow_said()). */
	FLOW_DATE_MADE,
	/* The result is a date that was formatted as text. If only the plan, its user or the
	 * policy chose the format string, the text can only be a date, so it is labelled as with
	 * FLOW_DATE. Otherwise it may be any text, so it is labelled as with FLOW_WHOLE. */
	FLOW_DATE_TEXT,
	/* The result gets the label of each input and of its structure (length, keys, order),
	 * but not the labels of its elements. */
	FLOW_SHAPE,
	/* For enumerate(), which returns pairs of an index and an element. The result gets the
	 * same label as with FLOW_SHAPE. The index in each pair gets this label, too. */
	FLOW_PLACES,
	FLOW_PICK, /* the result is the element of the receiver that the first argument selects */
	/* The result is an argument or a part of an argument, as in max(). All inputs influenced
	 * the choice. */
	FLOW_CHOICE,
	/* As FLOW_WHOLE, but key= and reverse= only choose the order of the result. So their
	 * labels are added as labels of a choice (flow_choice()). */
	FLOW_ORDER,
	/* For dict(): as FLOW_WHOLE, but the values of the named arguments keep their own
	 * labels. */
	FLOW_NAMED,
	FLOW_NOTHING, /* nothing is added to the label that the built-in gave the result */
};
/* How a run raises the label of the receiver's structure (length, keys, order) when a method
 * changes the receiver. In all cases flow_change() also checks that the change is allowed under
 * the current guard. */
enum native_change {
	CHANGE_NONE, /* the method does not change its receiver */
	/* The label of the receiver's structure stays as it is, as in x.append(v). */
	CHANGE_PLACE,
	/* As in x.insert(i, v): the first argument selects the place of the change. Join the
	 * label of this choice (flow_choice()) to the label of the receiver's structure. */
	CHANGE_FIRST,
	/* As in x.extend(y): join the label of y and the label of the structure of y (length,
	 * keys, order) to the label of the receiver's structure. The labels of the elements of y
	 * are not joined. */
	CHANGE_SHAPE,
	/* As in d.update(y, a=v): join the labels of everything reachable from the positional
	 * argument y to the label of the receiver's structure. Also join the label of the choice
	 * of the names, such as a. The label of the named value v is not joined. */
	CHANGE_ARGS,
	/* As in x.sort() and x.remove(v): join the labels of everything reachable from the
	 * receiver and from the positional arguments to the label of the receiver's structure.
	 * The named arguments key= and reverse= only choose the order. So their labels are
	 * joined as labels of a choice (flow_choice()). */
	CHANGE_WHOLE,
};
/* How the check models a built-in. The check has labels and abstract objects, but no values.
 * check/check_builtin.c implements the models. */
enum native_model {
	MODEL_UNKNOWN, /* the check refuses every call */
	MODEL_TOOL,    /* a tool; the policy determines the result */
	MODEL_TEXT,    /* result: a text computed from all inputs */
	/* Result: a part of the receiver, as in s.strip(","). A constant argument, such as the
	 * "," here, only selects the part, so the label of this argument is left out. */
	MODEL_PART,
	MODEL_PARTS, /* result: a list of parts of the receiver */
	MODEL_NAMES, /* result: a list of names, such as that of dir() */
	MODEL_NUMBER,
	MODEL_DATE,
	MODEL_DATE_MADE, /* result: a new date, such as that of date.add() */
	/* Result: a date that was formatted as text. If only the plan, its user or the policy
	 * chose the format string, the text can only be a date. Otherwise it may be any text. */
	MODEL_DATE_TEXT,
	MODEL_BOOL,
	MODEL_LENGTH,
	MODEL_TRUTH,
	MODEL_LIST, /* result: a new list of the elements of the arguments */
	MODEL_TUPLE,
	MODEL_SET,
	MODEL_ORDERED, /* result: a list whose order depends on its elements, as in sorted() */
	MODEL_PAIRS,   /* result: a list of tuples of elements, as in zip() */
	MODEL_RANGE,
	/* Result: the largest element, the smallest one, or the sum, as in max(), min() and
	 * sum(). */
	MODEL_EXTREME,
	MODEL_ANY, /* result: any value, computed from all inputs, as in json.loads() */
	MODEL_DICT,
	MODEL_STRUCT,
	MODEL_ENUM, /* result: a list of the arguments */
	MODEL_NOTHING,
	MODEL_APPROVE,
	MODEL_ASK,
	MODEL_TRY,
	/* Result: the first argument, to which an endorsement is added, as in matches(). */
	MODEL_ENDORSE,
	/* The models from here on are only for methods. MODEL_ADD: the last argument becomes a
	 * new element of the receiver. */
	MODEL_ADD,
	MODEL_EXTEND, /* the receiver gets the elements of the arguments */
	/* Result: the element of the receiver at a key, or a default value if the key is
	 * missing, as in d.get(key, default). */
	MODEL_GET,
	/* As MODEL_GET, but if the key is missing, the default value is added to the receiver. */
	MODEL_SETDEFAULT,
	MODEL_POP,
	MODEL_POPITEM,
	MODEL_LOSE, /* elements of the receiver are removed or get other indexes */
	MODEL_SORT,
	MODEL_VALUES,
	MODEL_ITEMS,
	MODEL_KEYS,
	MODEL_COPY,
	MODEL_UNION, /* result: a new collection of the elements of all inputs */
};
/* The module or type that a built-in belongs to. Built-ins from OF_STRING on are methods. */
enum native_of {
	OF_FUNCTION,
	OF_JSON, /* the module `json` */
	OF_DATE, /* the module `date` */
	OF_PLAN, /* functions that exist only in plans with tools */
	OF_STRING,
	OF_BYTES,
	OF_LIST,
	OF_DICT,
	OF_SET,
};

/* The arguments of a call as the caller passed them, not yet matched to parameters. */
struct args {
	const struct val *item;
	size_t n;
	const struct val *names; /* names of the values in `named`, as strings */
	const struct val *named;
	size_t n_named;
};

/*
 * A built-in function or method: a row of builtin/builtin.def, or a tool.
 *
 * `params` lists the parameters, separated by spaces. "x" is required and "x?" is optional
 * (T_UNSET if absent). Parameters before "/" are positional-only, parameters after "*" are
 * keyword-only. `fn` gets an array with one value for each parameter. If `params` is NULL, `raw`
 * gets the arguments as the caller passed them.
 *
 * Returns: `fn` and `raw` return 0, or -1 with the failure of the heap set.
 */
struct native {
	const char *name;
	const char *params;
	int (*fn)(struct vm *vm, struct val self, const struct val *arg, struct val *out);
	int (*raw)(struct vm *vm, struct val self, const struct args *args, struct val *out);
	bool is_python; /* the built-in exists only in the Python dialect */
	bool suspends;	/* a call suspends the plan until the host answers, see vm_run() */
	uint8_t flow;	/* enum native_flow */
	uint8_t change; /* enum native_change */
	uint8_t model;	/* enum native_model */
	uint8_t of;	/* enum native_of */
};

/* Find the method @name of values of the type @type. Returns: NULL if the dialect has no such
 * method. */
const struct native *native_method(const struct vm *vm, uint32_t type, struct val name);

/* Call a built-in without tracking labels. Returns: 0 or -1. */
int native_run(struct vm *vm, const struct native *native, struct val self, const struct args *args,
	struct val *out);
