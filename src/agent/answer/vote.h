/* The vote among the candidates for a step, by rank and by majority. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Ranks, from the worst to the best: does not take part, failed, succeeded, passed the check. */
enum vote_rank { VOTE_NONE, VOTE_FAILED, VOTE_GOOD, VOTE_PASSED };

/* Return the word for a rank: "none", "failed", "good", "passed". */
const char *vote_rank_word(enum vote_rank rank);

/* A candidate in the vote. Borrowed. */
struct ballot {
	enum vote_rank rank; /* VOTE_NONE: the candidate does not take part */
	bool is_answer;
	const char *value; /* value from vote_record() or vote_text(); NULL or "": equal to no other
			      value */
};

struct vote {
	size_t winner;
	size_t n_votes; /* number of candidates with the winner's rank and value, the winner
			   included */
	size_t n_best;	/* candidates of the winner's rank */
	size_t n_stand;
};

/* Find the winner: the candidates of the highest rank, of these the ones with the most frequent
 * value, of these the first that is an answer, or else the first. Returns: whether any candidate
 * takes part. */
bool vote_count(const struct ballot *ballots, size_t n, struct vote *out);

#define VOTE_REASONS "only|check|success|majority|first"

/* Return the word that explains why the winner won. */
const char *vote_reason(const struct ballot *ballots, const struct vote *vote);

/*
 * Return the value of a candidate in a canonical form, so that equal values are equal texts: JSON
 * in the order of RFC 8785, 42.0 as 42, fractions to 15 digits, because further digits depend on
 * the order of a sum; other texts trimmed, with one blank for each run of white space.
 *
 * Shape:   a record's value is the argument of final_answer(), else the value, else the output;
 *          after a failure, the error.
 * Owns:    the caller frees. NULL without memory.
 */
char *vote_record(const json_t *record);
char *vote_text(const char *text);
