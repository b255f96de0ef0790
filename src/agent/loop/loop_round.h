/* A step of several candidates: shared by loop_candidate.c and loop_round.c.
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
	char *text; /* the reply; NULL: the model could not be asked */
	enum reply_stop stop;
	bool is_cut;
	struct extract found;
	const char *answer; /* of a reply without code: within `text` */
	struct buf code;
	bool is_stopped, is_refused, has_branch;
	unsigned
		number; /* of its step, given by its place, not by when it ran; 0: it did not run */
	json_t *record, *checked;
	enum verdict verdict;
	struct failure why; /* of the model: no reply */
	struct err err;	    /* why the branch or the step was refused */
	enum vote_rank rank;
	char *value; /* the text that is compared in the vote */
};

struct round {
	struct candidate *v;
	unsigned n, n_ran, n_branches;
	bool is_stopped, is_concluded;
	struct wire_usage usage;
	int winner; /* or -1 */
	struct vote vote;
};

/* wire_watch's `done`: @arg is the candidate's reply_stream. */
void candidate_replied(void *arg, struct reply *reply, const struct failure *why);

/* Did the model write code? Text that may be an answer? */
bool candidate_is_code(const struct candidate *c);
bool candidate_is_text(const struct candidate *c);

/* Does it have an answer, as text or by final_answer()? */
bool candidate_is_answer(const struct candidate *c);

/* How it ranks in the vote. */
enum vote_rank candidate_rank(struct loop *l, const struct candidate *c);

/* Does the state of its branch differ from the session's? */
bool candidate_has_moved(const struct candidate *c);

/* The beginning of its value. Owns: the caller. NULL: nothing. */
json_t *candidate_shown(const struct candidate *c);

/* As events tell it. Owns: the caller. */
json_t *candidate_json(const struct candidate *c);

/* If all candidates are done, choose one. */
void loop_round_settle(struct loop *l);
