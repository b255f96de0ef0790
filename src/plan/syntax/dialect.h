/* Dialects: which constructs of Python a program may use. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The options of a dialect. If only `load` is on, the dialect is Starlark as bazelbuild/starlark
 * specifies it. */
struct dialect {
	bool top_level_control; /* if, for and while are allowed outside of functions */
	bool global_reassign;
	bool set_display; /* set displays: {1, 2} and {x for x in y} */
	bool f_strings;
	bool is_operator;  /* x is None */
	bool chained;	   /* chained comparisons: a < b < c */
	bool star_targets; /* starred targets and elements: a, *rest = x and [*a, *b] */
	bool power;	   /* a ** b */
	bool generators; /* generator arguments: any(x for x in y), which is evaluated as a list */
	bool annotations;
	bool imports; /* import statements, which only check that a name is predeclared */
	/* Python's layout: mixed tabs are errors; 1_000 and trailing commas are allowed */
	bool python_layout;
	/* Python's names: sum, round, isinstance, …; floats print as in CPython */
	bool python_names;
	bool load;
	bool while_loops;
	bool recursion;
};

#define DIALECT_STARLARK ((struct dialect){.load = true})
#define DIALECT_PLAN                                                                               \
	((struct dialect){.top_level_control = true,                                               \
		.global_reassign = true,                                                           \
		.set_display = true,                                                               \
		.f_strings = true,                                                                 \
		.is_operator = true,                                                               \
		.chained = true,                                                                   \
		.star_targets = true,                                                              \
		.power = true,                                                                     \
		.generators = true,                                                                \
		.annotations = true,                                                               \
		.imports = true,                                                                   \
		.python_layout = true,                                                             \
		.python_names = true})
