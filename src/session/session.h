/* A session: a box with live drivers, and the steps run in it. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/digest.h"
#include "base/err.h"
#include "runtime/runtime.h"
#include "session/box/stem.h"
#include "session/start/engine.h"
#include "session/start/order.h"
#include "session/step/record.h"
#include "session/step/step_order.h"
#include "session/tool_call.h"

struct session;

/*
 * What is heard of a session, from its loop, by whoever has it; step_listener is told of its steps.
 * Any may be NULL but `opened` and `done`.
 *
 * opened   the box is made and the driver started (@err NULL), or not.
 * unbegun  the step was withdrawn before it began, because the session's state is lost: run it
 *          again after the state has been rebuilt.
 * begin    the code is about to run.
 * call     code calls for something outside: to be answered with tool_call_answer(). NULL: denied.
 * cancel   that one is not waited for any more, and gone afterwards.
 * keep     an answer, before the box gets it: negative (with @err) when it cannot be kept, then the
 *          box gets that error in its place.
 * done     the record, borrowed; the session may be closed from here.
 * closed   everything the session had is gone; it has been freed.
 */
struct session_events {
	void *arg;
	void (*opened)(void *arg, const struct err *err);
	void (*unbegun)(void *arg);
	void (*begin)(void *arg);
	void (*call)(void *arg, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
	int (*keep)(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err);
	void (*done)(void *arg, const struct record *record);
	void (*closed)(void *arg);
};

/* Borrowed for the time of session_open() only, but for engine, order and preload. */
struct session_config {
	struct engine *engine;
	const struct order_checked *order; /* must outlive the session */
	const char *id;
	bool is_once;		    /* one step, a script, and its box ends with it */
	struct stem *stem;	    /* what it is a branch of, or NULL: a box of its own */
	bool is_template;	    /* import what is in `preload`, then be branched */
	const char *const *preload; /* NULL-terminated, or NULL */
	unsigned n_checkpoints;	    /* at most CHECKPOINTS_MAX */
	int stdin_fd;		    /* or -1: /dev/null */
};

/* Errors: ERR_NO_MEMORY, ERR_IO; everything else is told by `opened`. */
int session_open(struct session **out, const struct session_config *config,
	const struct session_events *events, struct err *err);

/* It was kept ready: now it is @id's, and @events hears of it. */
void session_take(struct session *s, const char *id, const struct session_events *events);

/* Only @events hear of it from now on. */
void session_silence(struct session *s, const struct session_events *events);

/*
 * Run one step, and hold its order until it is done; no other may be under way. @listener may be
 * NULL. What it needs first (a box, after the session was
 * branched; a driver) is made then.
 * Errors: ERR_LIMIT, ERR_GONE; everything else is told by the record.
 */
int session_run(struct session *s, struct step_order *order, const struct step_listener *listener,
	struct err *err);
bool session_is_idle(const struct session *s);

/* Stop the running step as a limit would: SIGINT, a second of grace, SIGKILL. Asked again, SIGKILL
 * at once. No step: nothing. */
void session_interrupt(struct session *s);

/* Is a driver of @runtime alive in it? When was the last step asked for (uv_hrtime())? */
bool session_is_live(const struct session *s, const struct runtime *runtime);
/* A driver that ended while its step was settled is missed now: its copy takes its place, if any.
 */
void session_notice(struct session *s);
uint64_t session_asked_ns(const struct session *s);

/* Completions of the end of @text: an array of strings, or NULL and @err. */
typedef void session_names_fn(void *arg, const json_t *names, const struct err *err);
void session_names(struct session *s, const struct runtime *runtime, const char *text,
	session_names_fn *done, void *arg);

/* Its box, borrowed, or NULL while there is none. */
struct box *session_box(const struct session *s);
/* The workspace's directory, or -1 while there is no box; valid until the loop runs again. */
int session_workspace_fd(const struct session *s);

/* End the session at whatever point it is; `closed` follows. */
void session_close(struct session *s);

/* ---- where it stands: undone, made again, branched ---- */

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
