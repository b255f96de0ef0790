/* Which of several candidates for a step is the best. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* From the worst to the best: what failed, what went well, what passed the check as well. */
enum vote_rank { VOTE_NONE, VOTE_FAILED, VOTE_GOOD, VOTE_PASSED };

/* "none", "failed", "good", "passed". */
const char *vote_rank_word(enum vote_rank rank);

/* A candidate as it counts. Borrowed. */
struct ballot {
	enum vote_rank rank; /* NONE: it does not stand */
	bool is_answer;
	const char *value; /* of vote_record() or vote_text(); NULL or "": agrees with no other */
};

struct vote {
	size_t winner;
	size_t n_votes; /* that say what it says, of its own rank; itself included */
	size_t n_best;	/* of its rank */
	size_t n_stand;
};

/*
 * The highest rank; within it the value that most have; of those the first that is an answer, or
 * the first. Returns: whether any stands.
 */
bool vote_count(const struct ballot *ballots, size_t n, struct vote *out);

#define VOTE_REASONS "only|check|success|majority|first"

/* One of them: by what it won. */
const char *vote_reason(const struct ballot *ballots, const struct vote *vote);

/*
 * What a candidate says, so that equal things are equal texts: JSON in the order of RFC 8785, 42.0
 * as 42, fractions to 15 digits, so that the order of a sum makes no difference; other texts
 * without white space around, and each white space within as one blank.
 *
 * Shape:   of a record: what final_answer() was given, else the value, else what was printed; of
 *          one that failed, the error.
 * Owns:    the caller frees. NULL without memory.
 */
char *vote_record(const json_t *record);
char *vote_text(const char *text);
