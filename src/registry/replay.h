/* Replay: run steps again, to rebuild a session or to check a record. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "registry/entry.h"

/* A replay: steps, from the first one to a head, that are run again in the session of an entry and
 * compared with their records. The callback gets a replay with ERR_NONE in `err` and the result in
 * `is_diverged`; or with the error that stopped it. */
typedef void replay_done_fn(struct entry *e, const struct replay *result);
struct replay {
	struct journal_node *nodes;
	size_t n, at;
	const struct runtime *runtime; /* not NULL: rebuild only its state, in a live session */
	bool is_diverged, is_borrowed;
	size_t first; /* index of the first step that differs */
	char field[32], was[200], is[200];
	char place[160];	 /* place of the difference, such as files[1].size, or "" */
	json_t *inputs;		 /* inputs of the step that runs */
	json_t *calls, *answers; /* calls not made again yet; answers by digest, if is_borrowed */
	size_t n_calls;		 /* number of calls that the step has made */
	struct err err;		 /* reason why the replay was stopped */
	replay_done_fn *done;
};
int replay_load(struct session_table *table, const char *head, const struct runtime *runtime,
	struct replay **out, struct err *err);
/* Start the replay in a new box. */
void replay_anew(struct entry *e, struct replay *replay, replay_done_fn *done);
void replay_start(struct entry *e, struct replay *replay, replay_done_fn *done);
/* Tool calls of a replayed step (answer_call.c): begin the step, answer a call, end the step. */
void replay_begin_calls(struct replay *r, const struct journal_node *node);
void replay_call(struct entry *e, struct tool_call *call);
void replay_end_calls(struct replay *r);
void replay_step_done(struct entry *e, const struct record *record);
void replay_free(struct replay *replay);
/* Note that @result has rebuilt the state of @e. A replay in a new box writes to the present files
 * of the host and may change any of them, so their paths are noted for the next step's record. For
 * a live box, session_rebuilt() reports these paths. */
void entry_note_rebuilt(struct entry *e, const struct replay *result);
void entry_note_rewritten(struct entry *e, const json_t *lost);
/* Add "runs_again" to the answer @out: runtimes whose steps must be run again before the next one;
 * nothing if there are none. */
void replay_tell_due(const struct entry *e, json_t *out);
/* Return the place of the first difference: "files[1].size". */
const char *replay_place(const struct replay *r);
/* Describe the first difference in one line: "step 3f9a…: files[1].size: 2, was 3". */
void replay_tell(const struct replay *r, char *out, size_t room);
/* End the replay of @e, if one is running, with the error @why. */
void replay_abort(struct entry *e, const struct err *why);
