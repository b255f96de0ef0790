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
 * Callbacks to the owner of a session, from its loop. Events of a step go to its step_listener.
 * Every callback but `opened` and `done` may be NULL.
 *
 * opened   The box is made and the driver started (@err NULL), or opening failed.
 * unbegun  The step was withdrawn before it began, because the session's state is lost. Run it
 *          again after rebuilding the state.
 * begin    The code is about to run.
 * call     The code calls a tool: respond with tool_call_answer(). If this callback is NULL, every
 *          call is denied.
 * cancel   The response to the call is not needed any more. The call is invalid afterwards.
 * keep     Store a tool's response before the box gets it. If that fails, return a negative errno,
 *          with @err; the box then gets an error instead.
 * widen    A person has allowed a connection for the session: add @rule to its network rules. May
 *          be NULL.
 * used     A process that counts as use of the session is over.
 * done     The step is over. Its record is borrowed. The callee may close the session.
 * closed   The session and everything that it owned are freed.
 */
struct session_events {
	void *arg;
	void (*opened)(void *arg, const struct err *err);
	void (*unbegun)(void *arg);
	void (*begin)(void *arg);
	void (*call)(void *arg, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
	int (*keep)(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err);
	void (*widen)(void *arg, const char *rule);
	void (*used)(void *arg);
	void (*done)(void *arg, const struct record *record);
	void (*closed)(void *arg);
};

/* Parameters of session_open(), borrowed until it returns. Only engine, order and preload are
 * used longer, as long as the session lives. */
struct session_config {
	struct engine *engine;
	const struct order_checked *order; /* must outlive the session */
	const char *id;
	bool is_once; /* for one step in `once` mode; the box ends with the step */
	/* The box will be a branch of this stem. NULL: the warden makes a new box. */
	struct stem *stem;
	bool is_template; /* the session imports the modules of `preload` and becomes a stem */
	const char *const *preload; /* NULL-terminated, or NULL */
	unsigned n_checkpoints;	    /* at most CHECKPOINTS_MAX - 1; 0 means the default */
	int stdin_fd;		    /* -1: /dev/null */
};

/* Open a session. Errors: ERR_GONE, ERR_IO. Later errors are reported by `opened`. */
int session_open(struct session **out, const struct session_config *config,
	const struct session_events *events, struct err *err);

/* Assign a prepared session to a user: set its id to @id and its callbacks to @events. */
void session_take(struct session *s, const char *id, const struct session_events *events);

/* Replace the session's callbacks by @events. */
void session_silence(struct session *s, const struct session_events *events);

/*
 * Run one step. No other step may be running. A missing box or driver is made first. The session
 * references @order until the step is done. @listener may be NULL.
 * Errors: ERR_USAGE, ERR_RUNTIME, ERR_LIMIT, ERR_GONE, ERR_IO, ERR_NO_MEMORY. Later errors are in
 * the record.
 */
int session_run(struct session *s, struct step_order *order, const struct step_listener *listener,
	struct err *err);
bool session_is_idle(const struct session *s);

/* Stop the running step as a limit would: SIGINT, one second of grace, SIGKILL. A second call
 * kills at once. Without a running step, nothing happens. */
void session_interrupt(struct session *s);

/* Return whether a running driver has the state of @runtime. */
bool session_is_live(const struct session *s, const struct runtime *runtime);
/* Handle drivers that ended while their step was being settled. Each is replaced by its
 * guard, if it has one. */
void session_notice(struct session *s);
/* Return when session_run() was last called, by uv_hrtime(). */
uint64_t session_asked_ns(const struct session *s);

/* Find completions of the name at the end of @text. @scope is the scope whose variables count, ""
 * for the session's own. @done gets an array of strings, or NULL and
 * @err. */
typedef void session_names_fn(void *arg, const json_t *names, const struct err *err);
void session_names(struct session *s, const struct runtime *runtime, const char *scope,
	const char *text, session_names_fn *done, void *arg);

/* Return the session's box, borrowed; NULL if there is no box yet. */
struct box *session_box(const struct session *s);
/* Return a descriptor of the workspace, valid until the loop runs again; -1 without a box. */
int session_workspace_fd(const struct session *s);

/*
 * Replace the network rules of the session, now and for its later boxes; without a rule, its
 * programs can connect to nothing. Connections that the new rules do not allow end. @rules is
 * copied. @done is called when they are in force, from the loop or during this call.
 * Errors, passed to @done: ERR_BUSY, ERR_BOX, ERR_LIMIT, ERR_GONE.
 */
typedef void session_rules_fn(void *arg, const struct err *err);
void session_set_rules(
	struct session *s, const struct rules *rules, session_rules_fn *done, void *arg);
/* Set the values of the session's secrets to those of @values, which may be NULL, with the same
 * names; others stay. Steps wait until they are known to the gateway. */
void session_set_secrets(struct session *s, const struct secrets *values);
/* Return whether the session's boxes trust what the gateway serves in the place of servers, so that
 * it can have rules for requests. */
bool session_trusts_gateway(const struct session *s);
/* Return whether what listens at @address and @port of the session's box is not a program, but the
 * gateway. */
bool session_is_gateway(const struct session *s, const char *address, uint16_t port);
/* Return the network rules, borrowed; NULL if there are none. */
const struct rules *session_rules(const struct session *s);

/* Close the session in any state. The event `closed` follows. */
void session_close(struct session *s);

/* ---- undo, rebuild and branch the state ---- */

/* Return whether the session has lost its state, that is, whether its state is not that after
 * the step `head` any more. If so, call session_renew() and run the session's steps again. */
bool session_is_lost(const struct session *s);
/* Return whether the last step was a script, which may have ended its process: only files are left.
 */
bool session_is_spent(const struct session *s);
void session_spoil(struct session *s);
/*
 * Rebuild the state of @runtime in a new driver, in three parts:
 *
 * 1. session_rebuild() saves the files and ends the present driver.
 * 2. The caller runs the runtime's steps again, with `is_rebuild`.
 * 3. session_rebuilt() restores the workspace and removes the files that the steps made in /tmp and
 *    /dev/shm. Then it calls @done. Other changes in these two directories and all changes in
 *    volumes remain: @lost has their paths, or is NULL.
 */
typedef void session_rebuilt_fn(void *arg, const json_t *lost);
void session_rebuild(struct session *s, const struct runtime *runtime);
void session_rebuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg);
/* End a rebuild that has failed: kill the driver and restore the files. */
void session_unbuilt(
	struct session *s, const struct runtime *runtime, session_rebuilt_fn *done, void *arg);

/* Give up the box. The next step gets a new box: a branch of @stem or, if @stem is NULL, one
 * from the warden. */
void session_renew(struct session *s, struct stem *stem);

/* Set the head to @step, the step that was committed ("": none), and give this name to its
 * checkpoint. Call this between `done` of the step and the next step. */
void session_set_head(struct session *s, const char *step);
/* Set the head to @step, which the session has reached without running a step, for example by an
 * undo. Unlike session_set_head(), this function gives no checkpoint the name @step. */
void session_move_head(struct session *s, const char *step);

/* Declare that the state of the session's box may now differ from the state of the stem from
 * which the box was branched. From then on, session_stem() does not return that stem. */
void session_touch(struct session *s);

/*
 * What a branch of a session does about processes that the session's programs left running.
 *
 * OTHERS_REFUSE  If there are such processes, the session is not branched. Processes that clients
 * have started go on, as with OTHERS_KEEP. OTHERS_END     They are ended. OTHERS_KEEP    They go
 * on. The session keeps its box, too, so its programs have power over the processes of the branch.
 *
 * In no case are they copied to the branch.
 */
enum session_others { OTHERS_REFUSE, OTHERS_END, OTHERS_KEEP };

/*
 * Make a stem that has the session's state, from which others can branch. Either the session turns
 * into the stem and continues as a branch of it; or, if @others is OTHERS_KEEP and the session's
 * programs have left processes running, the session keeps its box, and a branch of it becomes the
 * stem. @done gets the stem, borrowed. It is called from the loop or during this call.
 * Errors, passed to @done: ERR_BUSY (a step runs; the program has threads or processes), ERR_GONE,
 * ERR_LIMIT, ERR_NO_SPACE.
 */
typedef void session_stem_fn(void *arg, struct stem *stem, const struct err *err);
void session_make_stem(
	struct session *s, enum session_others others, session_stem_fn *done, void *arg);

/* Return a stem whose state equals the session's state, borrowed; or NULL. */
struct stem *session_stem(const struct session *s);

/* Copy the states of runtimes that are saved as text (struct state_text) from the session @of to
 * the session @s, which is a new branch of @of. */
void session_inherit(struct session *s, const struct session *of);

/*
 * Go back to the state after @step, if there is a checkpoint of it. @done gets the paths that could
 * not be restored (@lost), or NULL. Returns: false if there is no such checkpoint; run the steps
 * again instead.
 */
typedef void session_undone_fn(void *arg, const json_t *lost, const struct err *err);
bool session_undo(struct session *s, const char *step, session_undone_fn *done, void *arg);
