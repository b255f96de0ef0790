/* A session: a box with live drivers, and the steps that run in it. SPDX-License-Identifier:
 * Apache-2.0 */
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
 * What the owner of a session hears of it, from its loop; a step_listener hears of its steps. Any
 * may be NULL but `opened` and `done`.
 *
 * opened   the box is made and the driver started (@err NULL), or not.
 * unbegun  the step was withdrawn before it began, because the session's state is lost: run it
 *          again after the state has been rebuilt.
 * begin    the code is about to run.
 * call     the code calls a tool: answer with tool_call_answer(). NULL: every call is denied.
 * cancel   nobody waits for the answer to that call any more; the call is gone afterwards.
 * keep     an answer, before the box gets it. Negative (with @err): it cannot be kept, and the box
 *          gets that error instead.
 * done     the record, borrowed; the session may be closed from here.
 * closed   the session and everything it had is freed.
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

/* Borrowed until session_open() returns; engine, order and preload longer. */
struct session_config {
	struct engine *engine;
	const struct order_checked *order; /* must outlive the session */
	const char *id;
	bool is_once;		    /* one step in `once` mode; the box ends with it */
	struct stem *stem;	    /* it is a branch of this; NULL: it gets a box of its own */
	bool is_template;	    /* it imports the modules of `preload`, then it is branched */
	const char *const *preload; /* NULL-terminated, or NULL */
	unsigned n_checkpoints;	    /* at most CHECKPOINTS_MAX */
	int stdin_fd;		    /* or -1: /dev/null */
};

/* Errors: ERR_GONE, ERR_IO; everything else is told by `opened`. */
int session_open(struct session **out, const struct session_config *config,
	const struct session_events *events, struct err *err);

/* The session was kept ready: from now on it is @id, and @events hears of it. */
void session_take(struct session *s, const char *id, const struct session_events *events);

/* From now on only @events hears of it. */
void session_silence(struct session *s, const struct session_events *events);

/*
 * Run one step; no other may be under way. The session holds @order until the step is done.
 * @listener may be NULL. If the step needs a box or a driver, that is made first.
 * Errors: ERR_LIMIT, ERR_GONE; everything else is told by the record.
 */
int session_run(struct session *s, struct step_order *order, const struct step_listener *listener,
	struct err *err);
bool session_is_idle(const struct session *s);

/* Stop the running step as a limit would: SIGINT, a second of grace, SIGKILL. The second time:
 * SIGKILL at once. Without a step: nothing. */
void session_interrupt(struct session *s);

/* Does a driver have the state of @runtime? When was the last step asked for (uv_hrtime())? */
bool session_is_live(const struct session *s, const struct runtime *runtime);
/* Notice a driver that ended while its step was being settled: a copy takes its place, if there is
 * one. */
void session_notice(struct session *s);
uint64_t session_asked_ns(const struct session *s);

/* Complete the end of @text. @done gets an array of strings, or NULL and @err. */
typedef void session_names_fn(void *arg, const json_t *names, const struct err *err);
void session_names(struct session *s, const struct runtime *runtime, const char *text,
	session_names_fn *done, void *arg);

/* The box, borrowed; NULL while there is none. */
struct box *session_box(const struct session *s);
/* The directory of the workspace, or -1 while there is no box; valid until the loop runs again. */
int session_workspace_fd(const struct session *s);

/* End the session, in whatever state it is; `closed` follows. */
void session_close(struct session *s);

/* ---- its state: undone, rebuilt, branched ---- */

/* Is its state another than that of its head? Then session_renew(), and run its steps again. */
bool session_is_lost(const struct session *s);
void session_spoil(struct session *s);
/*
 * Rebuild the state of @runtime in a new driver: call session_rebuild(), run the steps of the
 * runtime with `is_rebuild`, then call session_rebuilt(). What they change in the workspace is
 * taken back, and what they make in /tmp and /dev/shm is removed; then @done. @lost: what else they
 * changed there and in volumes, or NULL.
 */
typedef void session_rebuilt_fn(void *arg, const json_t *lost);
void session_rebuild(struct session *s, const struct runtime *runtime);
void session_rebuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg);
/* The rebuilding failed: the driver ends, and the files are put back all the same. */
void session_unbuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg);

/* Give up the box; the next step gets a new one, a branch of @stem unless that is NULL. */
void session_renew(struct session *s, struct stem *stem);

/*
 * The session's state is that after @step ("": before the first). To be called when `done` has told
 * of a committed step, before the next step runs.
 */
void session_set_head(struct session *s, const char *step);
/* The same, when the checkpoints have their steps already. */
void session_move_head(struct session *s, const char *step);

/* Its box has changed: it is not the same as its stem any more. */
void session_touch(struct session *s);

/*
 * Make the session a stem, from which others can branch; the session itself continues as a branch.
 * The stem is borrowed. @done follows, from the loop or at once.
 * Errors, by @done: ERR_BUSY (a step runs; threads or processes of its own are alive), ERR_GONE,
 * ERR_LIMIT, ERR_NO_SPACE.
 */
typedef void session_stem_fn(void *arg, struct stem *stem, const struct err *err);
void session_make_stem(struct session *s, bool is_forced, session_stem_fn *done, void *arg);

/* A stem that has exactly the session's state, borrowed; or NULL. */
struct stem *session_stem(const struct session *s);

/* Give @s, which was just branched from @of, the checkpoints and the states of other runtimes of
 * @of. */
void session_inherit(struct session *s, const struct session *of);

/*
 * Go back to the state after @step, if a checkpoint has it. @done: @lost is a list of paths that
 * could not be put back, or NULL. Returns: false when there is no such checkpoint: run the steps
 * again instead.
 */
typedef void session_undone_fn(void *arg, const json_t *lost, const struct err *err);
bool session_undo(struct session *s, const char *step, session_undone_fn *done, void *arg);
