/* The vote that chooses among the candidates for a step, by rank and then by majority. Makes no
 * system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Ranks, from the worst to the best: did not take part, failed, succeeded, passed the user's
 * check. */
enum vote_rank { VOTE_NONE, VOTE_FAILED, VOTE_GOOD, VOTE_PASSED };

/* Return the word for a rank: "none", "failed", "good", "passed". */
const char *vote_rank_word(enum vote_rank rank);

/* The ballot of one candidate. The value is borrowed. */
struct ballot {
	enum vote_rank rank; /* VOTE_NONE if the candidate does not take part */
	bool is_answer;
	/* The result of vote_record() or vote_text(). A ballot whose value is NULL or "" does
	 * not count as equal to any other ballot. */
	const char *value;
};

struct vote {
	size_t winner;
	size_t n_votes; /* number of candidates with the winner's rank and value */
	size_t n_best;	/* number of candidates with the winner's rank */
	size_t n_stand;
};

/*
 * Choose the winner:
 * - Only the candidates of the highest rank can win.
 * - Of their values, the most frequent one wins. If several are equally frequent, the one that
 * occurs first wins.
 * - Of the candidates with this value, the first one that is an answer is the winner. If none of
 * them is an answer, the first one is the winner.
 * Returns: whether any candidate takes part.
 */
bool vote_count(const struct ballot *ballots, size_t n, struct vote *out);

#define VOTE_REASONS "only|check|success|majority|first"

/*
 * Return why the winner was chosen. This is the first of these words whose condition is true:
 * "only": no other candidate takes part.
 * "majority": several candidates have the winner's value.
 * "first": all candidates that take part have the same rank.
 * "check": the winner passed the user's check, and others did not.
 * "success": the winner succeeded, and others did not.
 */
const char *vote_reason(const struct ballot *ballots, const struct vote *vote);

/*
 * Return the value of a candidate in a canonical form, so that values that mean the same are equal
 * texts. In JSON, the members of objects are sorted by name, 42.0 is written as 42, and fractions
 * have 15 digits, because further digits depend on the order in which a program adds numbers. In
 * other texts, each run of white space becomes one blank.
 *
 * Shape:   the value of a record is the error if the step failed. Otherwise it is the argument of
 * final_answer(), or else the value of the step, or else its output.
 * Owns:    the caller frees; NULL if memory is exhausted.
 */
char *vote_record(const json_t *record);
char *vote_text(const char *text);
