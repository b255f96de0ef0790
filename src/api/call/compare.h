/* Whether what a program has printed is the answer of a test case.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The ways to compare, as words for a row of parameters, and what each takes for equal. */
#define COMPARE_CHOICES "exact|words|lines|codeforces|json"
#define HELP_COMPARE                                                                               \
	"what is equal: exact, the same bytes; words, the same words whatever white space is "     \
	"between them; lines, the same lines but for white space at their ends, upper and lower "  \
	"case, and numbers that differ by a factor below 0.00001; codeforces, as words, and yes "  \
	"and no in any case; json, the same value behind the last byte 0x1e of the output, of at most 1000000 parts"

/* Compare two strings, which may contain NUL and be long. @how: one of the words, "words" if NULL.
 * White space and case are those of ASCII. Returns: false also if one is no string. */
bool compare_outputs(const char *how, const json_t *printed, const json_t *expected);
