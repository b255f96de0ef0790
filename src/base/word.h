/* Lists of words, and suggestions for misspelled words. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { WORD_MAX_BYTES = 64 };

/* Return whether @list, such as "|py|pyw|", contains the @bytes of @word. Case is ignored. */
bool word_is_in(const char *list, const char *word, size_t bytes);

/*
 * Compute the edit distance: how many letters must be added, left out, replaced or swapped with
 * their neighbour to get from @a to @b.
 * Limits: if @a or @b is longer than WORD_MAX_BYTES, the result is 0 for equal words, and otherwise
 * the length of the longer one.
 * Source: "optimal string alignment", Damerau 1964.
 */
size_t word_distance(const char *a, const char *b);

/*
 * A search for the candidate nearest to a word: start with WORD_NEAR(word), call word_near_try()
 * for each candidate, then read `best`, which is NULL if every candidate is too different. A
 * candidate that begins with the word counts as near, and so does one whose part before a dash is
 * nearly the word. Of equally near candidates the first is
 * chosen.
 *
 * Owns: nothing; `best` is one of the candidates.
 */
struct word_near {
	const char *word;
	const char *best;
	size_t distance;
	/* Texts that are printed around the suggestion, such as "--"; NULL for no text. */
	const char *before, *after;
};

#define WORD_NEAR(w) ((struct word_near){.word = (w)})

void word_near_try(struct word_near *near, const char *candidate);

/* Try the text @name of each of the @n rows of a table; the text may be NULL. */
#define WORD_NEAR_ROWS(near, rows, n, name)                                                        \
	do {                                                                                       \
		for (size_t row_ = 0; row_ < (size_t)(n); row_++)                                  \
			if ((rows)[row_].name)                                                     \
				word_near_try((near), (rows)[row_].name);                          \
	} while (0)

/* Write the hint "did you mean …?", or @otherwise if no candidate was near. */
void word_near_hint(const struct word_near *near, const char *otherwise, char hint[ERR_HINT_BYTES]);

/*
 * Record the failure that a name is unknown, with the hint of word_near_hint(): `return
 * err_unknown(err, ERR_USAGE, &near, "--help lists them", "unknown option %s", name);`
 * Returns: the negative errno of @code.
 */
#define err_unknown(err, code, near, otherwise, ...)                                               \
	err_negative(word_unknown_at(                                                              \
		(err), (code), (near), (otherwise), __FILE__, __LINE__, __VA_ARGS__))

int word_unknown_at(struct err *err, enum err_code code, const struct word_near *near,
	const char *otherwise, const char *file, int line, const char *fmt, ...) attr_printf(7, 8);
