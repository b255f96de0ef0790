/* Code, functions, built-ins. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/value.h"

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
	uint32_t n_active; /* calls that go on: more than one is recursion */
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
};

/* The method of @type called @name. Returns: NULL when the dialect has none. */
const struct native *native_method(const struct vm *vm, uint32_t type, struct val name);

/* Call a built-in. Returns: 0 or -1. */
int native_call(struct vm *vm, const struct native *native, struct val self,
	const struct args *args, struct val *out);
