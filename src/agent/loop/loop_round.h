/* A step with several candidates: declarations shared by loop_candidate.c and loop_round.c.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/answer/extract.h"
#include "agent/answer/vote.h"
#include "agent/loop/inside.h"

enum candidate_state {
	CANDIDATE_ASKING,
	CANDIDATE_BRANCHING,
	CANDIDATE_RUNNING,
	CANDIDATE_CHECKING,
	CANDIDATE_DONE
};

struct candidate {
	struct reply_stream stream;
	enum candidate_state state;
	char *text; /* the model's reply; NULL until it arrives, or if the request failed */
	enum reply_stop stop;
	bool is_cut;
	struct extract found;
	const char *answer; /* the reply without thoughts: a pointer into `text` */
	struct buf code;
	bool is_stopped, is_refused, has_branch;
	unsigned number; /* number of the step; 0 if the code did not run */
	json_t *record, *checked;
	enum verdict verdict;
	/* Why the request failed. The class is FAILURE_NONE if it did not fail. */
	struct failure why;
	struct err err; /* if is_refused: why the branch or the step was refused */
	enum vote_rank rank;
	char *value; /* the text by which the vote compares candidates, or NULL */
};

struct round {
	struct candidate *v;
	unsigned n, n_ran, n_branches;
	bool is_stopped, is_concluded;
	struct wire_usage usage;
	int winner; /* index of the chosen candidate, or -1 */
	struct vote vote;
};

/* Receive the reply for a candidate. This function is the member `done` of the candidate's
 * wire_watch; @arg is the candidate's reply_stream. */
void candidate_replied(void *arg, struct reply *reply, const struct failure *why);

/* candidate_is_code() returns whether the reply has code. candidate_is_text() returns whether
 * the reply is a text without code, which may be an answer. */
bool candidate_is_code(const struct candidate *c);
bool candidate_is_text(const struct candidate *c);

/* Return whether the candidate has an answer, as text or by final_answer(). */
bool candidate_is_answer(const struct candidate *c);

/* Return the candidate's rank in the vote. */
enum vote_rank candidate_rank(struct loop *l, const struct candidate *c);

/* Return whether the candidate's branch has a state that the session can adopt. It has none if
 * no step ran there, if the step was rolled back, or if the state was lost. */
bool candidate_has_moved(const struct candidate *c);

/* Return the member `value` of the candidate, for use in an event. The vote compares the
 * candidates by their values. A long value is cut. Owns: the caller. Returns: NULL if the
 * candidate has no value, or an empty one. */
json_t *candidate_shown(const struct candidate *c);

/* Return a description of the candidate, for use in an event. Owns: the caller. */
json_t *candidate_json(const struct candidate *c);

/* If all candidates are done, hold the vote, and have the session adopt the winner's branch. */
void loop_round_settle(struct loop *l);
