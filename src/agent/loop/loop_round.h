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
	struct hearing heard;
	enum candidate_state state;
	char *text; /* the reply; NULL: there was none */
	enum reply_stop stop;
	bool is_cut;
	struct extract found;
	const char *answer; /* of a reply without code: within `text` */
	struct buf code;
	bool is_stopped, is_refused, has_branch;
	unsigned number; /* of its step, by its place, whenever it ran; 0: none ran */
	json_t *record, *checked;
	enum verdict verdict;
	struct failure why; /* there was no reply */
	struct err err;	    /* it could not be tried */
	enum vote_rank rank;
	char *value; /* what it says, as it is compared */
};

struct round {
	struct candidate *v;
	unsigned n, n_ran, n_branches;
	bool is_stopped, is_concluded;
	struct wire_usage usage;
	int winner; /* or -1 */
	struct vote vote;
};

/* wire_watch's `done`: @arg is the candidate's hearing. */
void candidate_heard(void *arg, struct reply *reply, const struct failure *why);

/* Did it write code, or what could be an answer in words? */
bool candidate_is_code(const struct candidate *c);
bool candidate_is_said(const struct candidate *c);

/* In words, or by final_answer(). */
bool candidate_is_answer(const struct candidate *c);

/* How far it came. */
enum vote_rank candidate_rank(struct loop *l, const struct candidate *c);

/* Has its branch gone on from where the session stands? */
bool candidate_has_moved(const struct candidate *c);

/* What it says, as far as it is shown. Owns: the caller. NULL: nothing. */
json_t *candidate_shown(const struct candidate *c);

/* All that an event tells of it. Owns: the caller. */
json_t *candidate_json(const struct candidate *c);

/* Conclude the round if all are done. */
void loop_round_settle(struct loop *l);
