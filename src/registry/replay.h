/* Steps run again, to rebuild a session or to check a record. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "registry/entry.h"

/*
 * replay.c: run the steps from the first to @head again in the session of @e, and compare; only
 * those of @runtime when it is not NULL. @done: ERR_NONE and whether they came out the same.
 */
typedef void replay_done_fn(struct entry *e, const struct replay *result);
struct replay {
	struct journal_node *nodes;
	size_t n, at;
	const struct runtime
		*runtime; /* not NULL: only its state is made again, in a live session */
	bool is_diverged, is_borrowed;
	size_t first; /* of those that differ */
	char field[32], was[200], is[200];
	char place[160];	 /* in the field, or "" */
	json_t *inputs;		 /* of the step that runs */
	json_t *calls, *answers; /* those of its calls that were not made yet; in a recording, what
				  * they were answered */
	size_t n_calls;		 /* made */
	struct err err;		 /* it could not go on */
	replay_done_fn *done;
};
int replay_load(struct session_table *table, const char *head, const struct runtime *runtime,
	struct replay **out, struct err *err);
/* The same in a new box. */
void replay_anew(struct entry *e, struct replay *replay, replay_done_fn *done);
void replay_start(struct entry *e, struct replay *replay, replay_done_fn *done);
/* answer_call.c: the steps begin, calls, and has ended. */
void replay_begin_calls(struct replay *r, const struct journal_node *node);
void replay_call(struct entry *e, struct tool_call *call);
void replay_end_calls(struct replay *r);
void replay_step_done(struct entry *e, const struct record *record);
void replay_free(struct replay *replay);
/* Its state was made again by @result. In a new box the steps have run over the host's files as
 * they are, and whether they changed any is not looked at: those are told, to be told by the next
 * step's record. Files of a box that was there already are told by session_rebuilt(). */
void entry_note_rebuilt(struct entry *e, const struct replay *result);
void entry_note_rewritten(struct entry *e, const json_t *lost);
/* Give @out, an answer, "runs_again": runtimes whose state goes by running their steps again,
 * before the next one. Nothing when there are none. */
void replay_tell_due(const struct entry *e, json_t *out);
/* Where the first difference is: "files[1].size". */
const char *replay_place(const struct replay *r);
/* The first difference in a line: "step 3f9a…: files[1].size: 2, was 3". */
void replay_tell(const struct replay *r, char *out, size_t room);
/* The session ends: tell @why to whoever waits for the replay. */
void replay_abort(struct entry *e, const struct err *why);
