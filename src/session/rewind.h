/* Where a session stands: undone, made again, branched. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/session.h"

/* Its state is not what its head says: session_renew(), then its steps again. */
bool session_is_lost(const struct session *s);
void session_spoil(struct session *s);
/*
 * Make the state of @runtime again, in a new driver: between the two run its steps with
 * `is_rebuild`. What they change in the workspace is taken back, what they make in /tmp and
 * /dev/shm is removed; then @done. @lost: what else they changed there and in volumes, or NULL.
 */
typedef void session_rebuilt_fn(void *arg, const json_t *lost);
void session_rebuild(struct session *s, const struct runtime *runtime);
void session_rebuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg);
/* It did not come to an end: the driver goes, and the files come back all the same. */
void session_unbuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg);

/* Throw away its box; the next step gets a new one, branched from @stem when it is not NULL. */
void session_renew(struct session *s, struct stem *stem);

/*
 * Where it stands in the journal: the step its state is that of. "" before the first. To be called
 * when `done` told of a step that is committed, before the next one is run.
 */
void session_set_head(struct session *s, const char *step);
/* The same where the checkpoints know already what steps they are of. */
void session_move_head(struct session *s, const char *step);

/* Something was changed in its box: it is not what it was branched from any more. */
void session_touch(struct session *s);

/*
 * Make the session a stem, so that others can branch from where it stands; it goes on as a branch
 * itself. The stem is borrowed. @done follows, from the loop or at once.
 * Errors, by @done: ERR_USAGE (a step runs, threads or processes of its own are alive), ERR_GONE.
 */
typedef void session_stem_fn(void *arg, struct stem *stem, const struct err *err);
void session_make_stem(struct session *s, bool is_forced, session_stem_fn *done, void *arg);

/* What others can be branched from at once, borrowed: nothing has changed since; or NULL. */
struct stem *session_stem(const struct session *s);

/* Give @s, just branched from @of, the checkpoints and the other runtimes' states of @of. */
void session_inherit(struct session *s, const struct session *of);

/*
 * Go back to the state after @step, if a checkpoint has it. @done: @lost is a list of paths that
 * could not be brought back, or NULL. Returns: false when there is no such checkpoint: it must be
 * replayed.
 */
typedef void session_undone_fn(void *arg, const json_t *lost, const struct err *err);
bool session_undo(struct session *s, const char *step, session_undone_fn *done, void *arg);
