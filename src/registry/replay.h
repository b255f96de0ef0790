/* Replay: run steps again, to rebuild a session's state or to check a record.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

/* A replay: a list of steps, from the first one to a head, that are run again in the session of
 * an entry and compared with their records. When it ends, the callback gets the replay. If `err`
 * has ERR_NONE, `is_diverged` is the result; otherwise `err` is the error that stopped the
 * replay. */
typedef void replay_done_fn(struct entry *e, const struct replay *result);
struct replay {
	struct journal_node *nodes;
	size_t n, at;
	/* If this is not NULL, run only the steps of this runtime, in a live session, to rebuild
	 * the state of the runtime. If this is NULL, run all steps. */
	const struct runtime *runtime;
	bool is_diverged, is_borrowed;
	size_t first; /* index of the first step that differs */
	char field[32], was[200], is[200];
	/* Place of the first difference, such as "files[1].size". If this is "", the difference
	 * is not inside a value of a record. All that is known is then in `field`, for example
	 * "tool call 2". */
	char place[160];
	json_t *inputs; /* inputs of the step that is running, from its record */
	/*
	 * calls: tool calls in the record of the step that is being replayed. When the replay makes
	 * one of the calls, the call is removed. So `calls` has the calls that the replay has not
	 * made yet.
	 *
	 * answers: the recorded answers to the tool calls, if the steps come from an exported
	 * recording (is_borrowed). The key of an answer is its digest. If the steps come from the
	 * journal, this is NULL, because the journal has the answers.
	 */
	json_t *calls, *answers;
	size_t n_calls; /* number of tool calls that the replayed step has made so far */
	/* The error that stopped the replay, or ERR_NONE. */
	struct err err;
	replay_done_fn *done;
};
int replay_load(struct session_table *table, const char *head, const struct runtime *runtime,
	struct replay **out, struct err *err);
/* Run the steps of @replay in a new box, then call @done. */
void replay_anew(struct entry *e, struct replay *replay, replay_done_fn *done);
void replay_start(struct entry *e, struct replay *replay, replay_done_fn *done);
/* Answer the tool calls of a replayed step from its record (answer_call.c). Call
 * replay_begin_calls() before the step and replay_end_calls() after it. */
void replay_begin_calls(struct replay *r, const struct journal_node *node);
void replay_call(struct entry *e, struct tool_call *call);
void replay_end_calls(struct replay *r);
void replay_step_done(struct entry *e, const struct record *record);
void replay_free(struct replay *replay);
/*
 * Note in @e that the replay @result has rebuilt the state of @e.
 * A replay in a new box may change files of the host: those in a workspace of the host and in
 * writable volumes. So note the paths of the workspace and the volumes; the record of the next step
 * reports them. After a replay in a live box, session_rebuilt() reports the paths that it has
 * changed.
 */
void entry_note_rebuilt(struct entry *e, const struct replay *result);
void entry_note_rewritten(struct entry *e, const json_t *lost);
/* Add the member "runs_again" to the answer @out: the names of runtimes whose state is lost, for
 * example ["javascript"]. Before the session runs the next step in such a runtime, it must run
 * the earlier steps of this runtime again. If there is no such runtime, add nothing. */
void replay_tell_due(const struct entry *e, json_t *out);
/* Return the place of the first difference, such as "files[1].size". */
const char *replay_place(const struct replay *r);
/* Describe the first difference in one line: "step 3f9a…: files[1].size: 2, was 3". */
void replay_tell(const struct replay *r, char *out, size_t room);
/* End the running replay of @e, if any, with the error @why. */
void replay_abort(struct entry *e, const struct err *why);
