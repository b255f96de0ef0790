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
	char *text; /* the model's reply; NULL: the model could not be asked */
	enum reply_stop stop;
	bool is_cut;
	struct extract found;
	const char *answer; /* the answer in a reply without code: a pointer into `text` */
	struct buf code;
	bool is_stopped, is_refused, has_branch;
	unsigned number; /* number of the step, from its place; 0: it did not run */
	json_t *record, *checked;
	enum verdict verdict;
	struct failure why; /* failure of the model: there is no reply */
	struct err err;	    /* error that refused the branch or the step */
	enum vote_rank rank;
	char *value; /* the text by which the vote compares candidates */
};

struct round {
	struct candidate *v;
	unsigned n, n_ran, n_branches;
	bool is_stopped, is_concluded;
	struct wire_usage usage;
	int winner; /* index of the winner, or -1 */
	struct vote vote;
};

/* Receive the reply for a candidate, as wire_watch's `done`: @arg is the candidate's reply_stream.
 */
void candidate_replied(void *arg, struct reply *reply, const struct failure *why);

/* Did the model write code? Did it write text that may be an answer? */
bool candidate_is_code(const struct candidate *c);
bool candidate_is_text(const struct candidate *c);

/* Does the candidate have an answer, as text or by final_answer()? */
bool candidate_is_answer(const struct candidate *c);

/* Return the candidate's rank in the vote. */
enum vote_rank candidate_rank(struct loop *l, const struct candidate *c);

/* Does the state of the candidate's branch differ from the session's state? */
bool candidate_has_moved(const struct candidate *c);

/* Return the beginning of the candidate's value; NULL: no value. Owns: the caller. */
json_t *candidate_shown(const struct candidate *c);

/* Return the candidate's description for events. Owns: the caller. */
json_t *candidate_json(const struct candidate *c);

/* Choose a candidate once all candidates are done. */
void loop_round_settle(struct loop *l);
