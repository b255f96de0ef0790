/* Write values as text. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/machine/vm.h"
#include "plan/value/str.h"

/* Append str(v), or with @is_repr repr(v). Returns: 0 or -1. */
int format_value(struct vm *vm, struct text *t, struct val v, bool is_repr);

/* Append the shortest decimal number that reads back as @f. */
int format_float(struct text *t, double f, bool is_python);

/* Compute format % args, as in "%d" % x. Returns: 0 or -1. */
int format_percent(struct vm *vm, struct val format, struct val args, struct val *out);

/* Compute format.format(args), as in "{}".format(x). Returns: 0 or -1. */
int format_braces(struct vm *vm, struct val format, const struct args *args, struct val *out);

/* Format one part of an f-string, such as {x!r:>8}. @conversion is 0, 's' or 'r'; @spec is the
 * format specification or NULL. Returns: 0 or -1. */
int format_part(
	struct vm *vm, struct val v, int conversion, const struct val *spec, struct val *out);
int format_spec(struct vm *vm, struct text *t, struct val v, const char *spec, size_t bytes);

/* Concatenate strings and ints of at most 64 bits to one string. Returns: 0 or -1. */
int format_join(struct vm *vm, const struct val *item, size_t n, struct val *out);
