/* A session: a box with running drivers, and the steps that run in it.
 * SPDX-License-Identifier: Apache-2.0 */
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
 * Callbacks to the owner of a session, from its loop; a step's events go to its step_listener.
 * Every callback but `opened` and `done` may be NULL.
 *
 * opened   The box is made and the driver started (@err NULL), or opening failed.
 * unbegun  The step was withdrawn before it began, because the session's state is lost. Run it
 *          again after rebuilding the state.
 * begin    The code is about to run.
 * call     The code calls a tool: respond with tool_call_answer(). NULL: every call is denied.
 * cancel   The response to the call is not needed any more. The call is invalid afterwards.
 * keep     Store a tool's response before the box gets it. A negative return (with @err) means that
 *          it could not be stored; the box then gets an error instead.
 * done     The step's record, borrowed. The callee may close the session.
 * closed   The session and everything that it owned is freed.
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

/* Borrowed until session_open() returns, except engine, order and preload, which the session keeps
 * using. */
struct session_config {
	struct engine *engine;
	const struct order_checked *order; /* must outlive the session */
	const char *id;
	bool is_once;		    /* runs one step in `once` mode; the box ends with it */
	struct stem *stem;	    /* stem to branch the box from; NULL: the warden makes one */
	bool is_template;	    /* imports the modules of `preload` and then becomes a stem */
	const char *const *preload; /* NULL-terminated, or NULL */
	unsigned n_checkpoints;	    /* at most CHECKPOINTS_MAX; 0: the default */
	int stdin_fd;		    /* -1: /dev/null */
};

/* Open a session. Errors: ERR_GONE, ERR_IO; later errors arrive by `opened`. */
int session_open(struct session **out, const struct session_config *config,
	const struct session_events *events, struct err *err);

/* Assign the prepared session to a user: set its id to @id and its callbacks to @events. */
void session_take(struct session *s, const char *id, const struct session_events *events);

/* Replace the session's callbacks by @events. */
void session_silence(struct session *s, const struct session_events *events);

/*
 * Run one step; no other step may be running. The session references @order until the step is done.
 * @listener may be NULL. A missing box or driver is made first. Errors: ERR_LIMIT, ERR_GONE; later
 * errors are in the record.
 */
int session_run(struct session *s, struct step_order *order, const struct step_listener *listener,
	struct err *err);
bool session_is_idle(const struct session *s);

/* Stop the running step as a limit would: SIGINT, a second of grace, SIGKILL. A second call kills
 * at once. Without a running step the call does nothing. */
void session_interrupt(struct session *s);

/* Does a driver have the state of @runtime? */
bool session_is_live(const struct session *s, const struct runtime *runtime);
/* Handle drivers that ended while their step was being settled: a copy replaces each, if one
 * exists. */
void session_notice(struct session *s);
/* Return the time of the last session_run(), by uv_hrtime(). */
uint64_t session_asked_ns(const struct session *s);

/* Complete the name at the end of @text. @done gets an array of strings, or NULL and @err. */
typedef void session_names_fn(void *arg, const json_t *names, const struct err *err);
void session_names(struct session *s, const struct runtime *runtime, const char *text,
	session_names_fn *done, void *arg);

/* Return the box, borrowed, or NULL. */
struct box *session_box(const struct session *s);
/* Return the workspace's directory, or -1 without a box. Valid until the loop runs again. */
int session_workspace_fd(const struct session *s);

/* End the session in any state; `closed` follows. */
void session_close(struct session *s);

/* ---- undo, rebuild and branch the state ---- */

/* Does the session's state differ from that of its head? If so, call session_renew() and run its
 * steps again. */
bool session_is_lost(const struct session *s);
void session_spoil(struct session *s);
/*
 * Rebuild the state of @runtime in a new driver: call session_rebuild(), run the runtime's steps
 * with `is_rebuild`, then call session_rebuilt(). That undoes the changes of those steps in the
 * workspace, removes the files that they made in /tmp and /dev/shm, and calls @done. @lost: paths
 * of their other changes there and in volumes, or NULL.
 */
typedef void session_rebuilt_fn(void *arg, const json_t *lost);
void session_rebuild(struct session *s, const struct runtime *runtime);
void session_rebuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg);
/* End a rebuild that failed: kill the driver and restore the files. */
void session_unbuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg);

/* Give up the box. The next step gets a new one: a branch of @stem, or (NULL) one from the warden.
 */
void session_renew(struct session *s, struct stem *stem);

/*
 * Set the head to @step ("": before the first step). Call it between `done` of a committed step and
 * the next step.
 */
void session_set_head(struct session *s, const char *step);
/* Set the head without naming a checkpoint after it. */
void session_move_head(struct session *s, const char *step);

/* Note that the box has changed and differs from its stem now. */
void session_touch(struct session *s);

/*
 * Turn the session into a stem, from which others can branch; the session continues as a branch of
 * it. The stem is borrowed. @done follows, from the loop or at once.
 * Errors, by @done: ERR_BUSY (a step runs; the program has threads or processes), ERR_GONE,
 * ERR_LIMIT, ERR_NO_SPACE.
 */
typedef void session_stem_fn(void *arg, struct stem *stem, const struct err *err);
void session_make_stem(struct session *s, bool is_forced, session_stem_fn *done, void *arg);

/* Return a stem whose state equals the session's, borrowed; or NULL. */
struct stem *session_stem(const struct session *s);

/* Copy the text states of runtimes from @of to @s, which was just branched from it. */
void session_inherit(struct session *s, const struct session *of);

/*
 * Go back to the state after @step, if there is a checkpoint of it. @done: @lost is a list of paths
 * that could not be restored, or NULL. Returns: false if there is no such checkpoint: run the steps
 * again instead.
 */
typedef void session_undone_fn(void *arg, const json_t *lost, const struct err *err);
bool session_undo(struct session *s, const char *step, session_undone_fn *done, void *arg);
