/* The best of several candidates for a step, by rank and by majority. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* From the worst to the best: failed, succeeded, also passed the check. */
enum vote_rank { VOTE_NONE, VOTE_FAILED, VOTE_GOOD, VOTE_PASSED };

/* "none", "failed", "good", "passed". */
const char *vote_rank_word(enum vote_rank rank);

/* A candidate in the vote. Borrowed. */
struct ballot {
	enum vote_rank rank; /* NONE: it does not take part */
	bool is_answer;
	const char *value; /* of vote_record() or vote_text(); NULL or "": agrees with no other */
};

struct vote {
	size_t winner;
	size_t n_votes; /* candidates of its rank with its value, itself included */
	size_t n_best;	/* candidates of its rank */
	size_t n_stand;
};

/* The winner has the highest rank; within the rank, the most frequent value; with that value, it is
 * the first that is an answer, or else the first. Returns: whether any candidate takes part. */
bool vote_count(const struct ballot *ballots, size_t n, struct vote *out);

#define VOTE_REASONS "only|check|success|majority|first"

/* One of them: why it won. */
const char *vote_reason(const struct ballot *ballots, const struct vote *vote);

/*
 * The value of a candidate in a canonical form, so that equal values are equal texts: JSON in the
 * order of RFC 8785, 42.0 as 42, fractions to 15 digits, because further digits depend on the order
 * of a sum; other texts trimmed, with one blank for each run of white space.
 *
 * Shape:   of a record: the argument of final_answer(), else the value, else the output; after a
 * failure, the error. Owns:    the caller frees. NULL without memory.
 */
char *vote_record(const json_t *record);
char *vote_text(const char *text);
