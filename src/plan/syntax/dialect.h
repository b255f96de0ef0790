/* Dialects: which constructs of Python are allowed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* With all off it is Starlark as bazelbuild/starlark specifies it. */
struct dialect {
	bool top_level_control; /* if, for and while outside of functions */
	bool global_reassign;
	bool set_display; /* {1, 2}, {x for x in y} */
	bool f_strings;
	bool is_operator;  /* x is None */
	bool chained;	   /* a < b < c */
	bool star_targets; /* a, *rest = x; [*a, *b] */
	bool power;	   /* ** */
	bool generators;   /* any(x for x in y), as a list */
	bool annotations;
	bool imports;	    /* of names that are there anyway */
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
