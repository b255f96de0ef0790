/* Dialects, which define the allowed constructs of Python. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The options of a dialect. With all options off, it is Starlark as bazelbuild/starlark specifies
 * it. */
struct dialect {
	bool top_level_control; /* if, for and while outside of functions */
	bool global_reassign;
	bool set_display; /* {1, 2}, {x for x in y} */
	bool f_strings;
	bool is_operator;  /* x is None */
	bool chained;	   /* a < b < c */
	bool star_targets; /* a, *rest = x; [*a, *b] */
	bool power;	   /* a ** b */
	bool generators;   /* any(x for x in y), evaluated as a list */
	bool annotations;
	bool imports;	    /* import of names that are predeclared anyway */
	bool python_layout; /* inconsistent tabs are an error; 1_000; trailing commas */
	bool python_names;  /* sum, round, isinstance… and floats as CPython prints them */
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
