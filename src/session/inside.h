/*
 * Internals of a session: `struct session` and the functions that its source files share. Only the
 * files below include this header.
 *
 *   session.c          opens and closes the session; gets and gives up its box
 *   drivers.c          starts the drivers, one per runtime in use, and reads their frames
 *   running.c          runs a step: the actions of the table in step/step.c, and the clocks
 *   complete_record.c  adds the list of files and the step's name to the record
 *   tool_call.c        handles the tool calls of a step
 *   idle_limits.c      enforces limits on leftover processes between two steps
 *   transaction.c      commits a step or rolls it back; undo
 *   rolling_back.c     rolls back: the actions of the table in step/rollback.c
 *   save_state.c       makes checkpoints
 *   save_files.c       saves the workspace's files for checkpoints
 *   restore.c          restores files of the workspace
 *   rebuild.c          rebuilds the state of one runtime by running its steps again
 *   stemming.c         turns the session into a stem, from which others branch
 *   change.c           changes a file of the workspace for a client
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "session/box/checkpoint.h"
#include "session/box/deadline.h"
#include "session/box/driver.h"
#include "session/box/stdin_copy.h"
#include "session/fence.h"
#include "session/session.h"
#include "session/step/rollback.h"
#include "session/step/step.h"

enum { NO_GUARD_BYTES = 240, RESTORE_SCRATCH = 2, WALL_TIMES = 10 };

/* The scope of a SETUP frame. Each value includes the ones before it. SETUP_NAME: tell the driver
 * its session's name. SETUP_WARM: have it prepare for its first step. SETUP_GUARD: have it make a
 * guard. */
enum setup { SETUP_NAME, SETUP_WARM, SETUP_GUARD };

enum session_state { SESSION_MAKING, SESSION_OPEN, SESSION_ENDED, SESSION_CLOSING };

/* A runtime of the session, with its driver (if started) and that driver's state. */
struct session_driver {
	struct session *session;
	const struct runtime *runtime;
	struct driver *driver;	  /* NULL before the driver starts and after it is lost */
	int32_t pid;		  /* driver's process id in the box; 0: not known */
	int32_t arm_pid;	  /* process id of the interpreter that the driver started, or 0 */
	bool is_going;		  /* the current rollback ends or replaces the driver */
	bool is_live;		  /* the driver has the state that the session's steps left */
	bool is_unnamed;	  /* the driver may not have received the session's name */
	bool is_interrupted;	  /* SIGINT was sent for the last step and may still be pending */
	uint64_t version;	  /* id of the last committed step here; 0: none in this box */
	struct state_text *state; /* last STATE that a driver sent, for the next driver; or NULL */
	bool is_loss_told;	  /* the session's notice already tells the loss of @state */
	struct guard *guard;	  /* counted reference to the guard of its present state, or NULL */
	uint64_t due_id;	  /* id of the STEP or SETUP for which a guard is due, or 0 */
	bool is_due_said;	  /* CHECKPOINT was sent for the guard that is due */
	uint64_t setup_id;	  /* id of the SETUP without a response yet, or 0 */
	uint64_t last_call;	  /* number of the driver's last tool call, or 0 */
	char no_guard[NO_GUARD_BYTES]; /* reason why its state has no checkpoint, or "" */
	char barred[NO_GUARD_BYTES];   /* reason why it cannot be branched, or "" */
};

/* A tool call whose response is pending; see tool_call.c. */
struct waiting;
/* Limits of all tool calls of one step. A call beyond them fails with ToolLimit. */
enum { CALLS_STEP_MAX = 10000, CALLS_STEP_BYTES = 256 << 20 };
/* Limits of the arguments of all pending tool calls of a session: bytes of text, and JSON values.
 */
enum { CALLS_HELD_BYTES = 16 << 20, CALLS_HELD_PARTS = 200000 };

struct tool_calls {
	struct waiting *first; /* pending calls, oldest first */
	unsigned n;
	unsigned n_held; /* reasons to pause the wall clock: calls, and a read of stdin */
	size_t bytes, parts;
	unsigned n_made;       /* calls made in this step */
	uint64_t answer_bytes; /* bytes of all responses in this step */
	bool is_reading;       /* the step waits for its stdin, which pauses the wall clock */
};

/* A restoration of files in progress, see restore.c. */
struct restore;
struct change;
/* A pass that reads file contents for a checkpoint, see save_files.c. */
struct files_saving;

/* Resource usage of the box between two steps, see idle_limits.c. */
struct idle_limits {
	uint64_t base_us, seen_us; /* CPU time at the step's end, and at the last measurement */
	uint64_t delay_ms;
	bool is_swept;	  /* leftover processes were killed since the last step */
	const char *said; /* notice for the next step's record that leftover processes were killed,
			     or NULL */
	const char *said_now; /* notice for the current step's record, or NULL */
};

/* The rollback in progress. */
struct rollback {
	enum rollback_state state;
	enum rollback_cause cause;
	struct session_driver *failed;	/* runtime whose driver ends in any case, or NULL */
	struct session_driver *resumed; /* runtime whose guard becomes its driver, or NULL */
	struct session_driver *lead; /* runtime whose driver id identifies init's reply, or NULL */
	struct checkpoint *target;   /* counted reference; NULL: only the driver of @failed ends */
	session_undone_fn *undone;   /* callback of a ROLLBACK_UNDO, else NULL */
	void *undone_arg;
};

struct session {
	struct session_events events;
	struct engine *engine;
	const struct order_checked *order;
	const char *const *preload;
	bool is_once, is_template;
	unsigned n_refused; /* consecutive failures to branch from @stem */
	bool is_lost;	    /* the state is not that of @head; see session_is_lost() */
	enum session_state state;
	char id[RECORD_ID_BYTES];
	char head[DIGEST_BYTES];
	struct limits limits;
	uint64_t last_id; /* last id given to a frame for a driver */
	size_t n_handles; /* libuv handles and thread-pool jobs that are not closed yet */

	struct box *box;      /* NULL before its creation, and after the session became a stem */
	struct stem *stem;    /* stem from which the next box will be branched, counted; or NULL */
	struct stem *base;    /* stem that still equals the box, counted; or NULL */
	bool is_continuation; /* the next box continues the stem's random numbers */
	bool is_rewound;      /* the next box will be a branch of an earlier state */
	struct branching *branching;
	struct session_driver drivers[RUNTIMES_MAX];
	struct checkpoints points;
	struct workspace before; /* files of the workspace at the end of the last step */
	struct workspace scratch[RESTORE_SCRATCH]; /* /tmp and /dev/shm at the last step's end */
	struct shadow *shadow;	     /* saved files with their bytes; may be older than @before */
	bool is_shadow_due;	     /* @before is newer than @shadow */
	bool is_shared_seen;	     /* @before of a shared host workspace was just listed again */
	struct files_saving *saving; /* reads file contents for the next @shadow; NULL: idle */
	bool is_warm_due;	     /* the branched driver has not yet prepared for a step */
	bool is_urgent;		     /* the engine's n_urgent includes this session */
	uint64_t idle_ns;	     /* time at which the session became idle */
	uv_timer_t idle;
	int stdin_fd;
	struct stdin_copy stdin_copy;
	bool has_stdin_copy;

	/* the current step */
	enum step_state step_state;
	uint64_t step_id;
	struct step_order *step; /* counted reference until the step is done, or NULL */
	const struct step_listener *listener; /* listener of the current step, or NULL */
	struct fence fence;		      /* Markdown fence around the step's code */
	struct session_driver *step_driver;   /* driver that runs the step */
	struct step_end end;
	char why[ERR_MSG_BYTES];
	struct record record;
	bool has_record;
	uint64_t asked_ns, began_ns;
	int64_t sent_ns; /* time of sending STEP, by lost_files_now_ns() */
	uint64_t base_cpu_us, base_ooms, last_cpu_us, last_ooms;
	struct idle_limits idle_limits;
	bool is_base_due; /* the next usage measurement sets base_cpu_us */
	struct tool_calls calls;
	struct deadline wall;
	uv_timer_t meter;
	enum step_cause wall_cause; /* cause with which the step ends when @wall expires */
	uint64_t wall_left_ms;	    /* rest of @wall while it is paused, since @paused_ns */
	uint64_t paused_ns;
	char no_guard[NO_GUARD_BYTES]; /* reason why the step has no checkpoint, or "" */
	char notice[LOSS_BYTES];       /* losses that the next record reports */
	char told[2 * LOSS_BYTES];     /* losses that the current step's record reports */
	struct rollback rollback;
	uint32_t last_mark, marked; /* last mark sent to init; last mark that init confirmed */
	struct deadline back;	    /* time limit of a rollback or of a rebuild's restoration */
	struct restore *restoring;
	struct change *change; /* change by a client; see change.c */
	struct shadow *kept;   /* files at the start of a rebuild, counted reference; or NULL */
	int64_t rebuild_ns;    /* start of the rebuild, by lost_files_now_ns() */
	bool is_rebuilding;
	bool is_scratch_kept; /* @scratch is not replaced until the rebuild ends */
	session_rebuilt_fn *rebuilt;
	void *rebuilt_arg;
	char checkpoint[24]; /* checkpoint's name in the record */
	json_t *lost;	     /* paths that could not be restored, or NULL */

	session_names_fn *named;
	void *named_arg;
	uint64_t named_id;
	session_stem_fn *stemmed;
	void *stemmed_arg;
	bool is_forced, is_count_due;
};

/* session.c */
void session_handle_gone(struct session *s);
void session_opened(struct session *s, const struct err *err);
void session_lose_box(struct session *s);
/* Drop the session's reference to its box. Other holders may keep the box. */
void session_let_go_box(struct session *s);
int session_get_box(struct session *s, struct err *err);
int session_open_stdin(struct session *s, int *theirs, struct err *err);
void session_on_idle(uv_timer_t *timer);
void session_set_urgent(struct session *s, bool is_urgent);

/* stemming.c */
/* Upper bound of the processes in the box that belong neither to the program nor are drivers: the
 * interpreters of drivers (arm_pid), and guards. */
enum { SESSION_KNOWN_MAX = CHECKPOINTS_MAX + RUNTIMES_MAX };
size_t session_list_known(const struct session *s, int32_t pids[SESSION_KNOWN_MAX]);
void session_count(struct session *s);
void session_no_stem(struct session *s, const struct err *err);

/* drivers.c */
extern const struct driver_events session_driver_events;
/* Start the driver of @runtime, unless it is running. Errors: ERR_RUNTIME, ERR_BOX. */
int session_driver_start(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err);
/* Start the driver as above, and send SETUP to a new one. */
int session_driver_ensure(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err);
/* Adopt a driver that has sent READY. */
struct session_driver *session_driver_adopt(struct session *s, struct driver *d);
struct session_driver *python_driver(struct session *s);
int session_driver_setup(struct session_driver *p, enum setup what, struct err *err);
/* Send CHECKPOINT, if a guard is due and CHECKPOINT was not sent for it. */
void session_driver_ask_guard(struct session_driver *p);
/* Is the driver certainly waiting for a frame, so that it begins a step as soon as STEP arrives?
 * False if it may have other work, if threads of the program may take its signals, or if an earlier
 * SIGINT may still be pending. */
bool session_driver_is_waiting(const struct session_driver *p);
/* Add to the session's notice which part of its state the runtime's next driver will lack. */
void session_driver_tell_loss(struct session_driver *p);
void session_driver_lose(struct session_driver *p);
void session_drivers_lose(struct session *s);

/* running.c */
void step_event(struct session *s, enum step_event event);
void step_stop(struct session *s, enum step_cause cause, enum step_event event, const char *why);
void step_began(struct session *s);
void step_proceed(struct session *s);
/* Withdraw a step that waits for a box. The registry runs it again after it has rebuilt the state.
 * Returns: whether there was such a step. */
bool step_give_back(struct session *s);
/* Pause and resume the wall clock while tool calls are pending. With all pauses the step may take
 * at most WALL_TIMES its limit. */
void step_pause(struct session *s);
void step_resume(struct session *s);
void step_interrupt_again(struct session *s);

/* If @usage lacks the memory of some process, record the memory limit as not enforced. */
void step_note_uncounted(struct session *s, const struct box_usage *usage);
void step_measured(void *arg, const struct box_usage *usage);
void step_take_output(struct session *s, int stream, const char *data, size_t bytes);

/* idle_limits.c: measure the box's usage until the next step begins. */
void idle_limits_watch(struct session *s);
/* Move the notice of killed processes into the record of the step that begins. */
void idle_limits_tell(struct session *s);

/* transaction.c */
void transaction_settle(struct session *s);
/* Measure what the box has used. STEP_SETTLED follows, or ROLLBACK_COUNTED if a rollback is in
 * state LEAVING. */
void transaction_read_books(struct session *s);
/* Replace a driver that died between two steps by its copy. Returns: false if there is no such
 * copy. */
bool transaction_revive(struct session_driver *p);

/* rolling_back.c */
static inline bool is_rolling_back(const struct session *s)
{
	return s->rollback.state != ROLLBACK_IDLE;
}
static inline bool is_rolling_back_for(const struct session *s, enum rollback_cause cause)
{
	return is_rolling_back(s) && s->rollback.cause == cause;
}
/* Return the checkpoint of the state after @step if the session can go back to it now, else NULL.
 * @failed: the runtime whose driver ends in any case, or NULL. */
struct checkpoint *rollback_point(
	struct session *s, const struct session_driver *failed, const char *step);
/* Does a rollback to @c need another box, because only branches of its stem have its Python state?
 */
bool rollback_must_leave(
	struct session *s, const struct session_driver *failed, const struct checkpoint *c);
/* Is the process alive that an undo to @c would resume? True if it resumes none. */
bool rollback_can_resume(struct session *s, const struct checkpoint *c);
/* Begin a rollback to @to: rollback_stay() in this box (@to NULL: only the driver of @failed ends),
 * rollback_leave() by changing to a new branch of @to's stem. */
void rollback_stay(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to);
void rollback_leave(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to);
/* Report that the box ended before or while a step was settled. */
void rollback_lose(struct session *s, const struct err *err);
/* Advance the rollback by @event. @err: reason of ROLLBACK_FAILED and ROLLBACK_EXITED, else NULL.
 */
void rollback_event(struct session *s, enum rollback_event event, const struct err *err);
/* Tell the rollback that @p has sent READY, or that its process has ended. Both are ignored outside
 * of a rollback. */
void rollback_ready(struct session_driver *p, const json_t *said);
void rollback_exited(struct session_driver *p);

/* save_state.c */
/* Make a checkpoint of the head's state in a new box. */
void save_state_begin(struct session *s);
/* Make a checkpoint of the state that a committed step left. */
void save_state_step(struct session *s);
/* Make a checkpoint after a client has changed a file. */
void save_state_changed(struct session *s);
/* Name the step's checkpoint: the step's name is known now. */
void save_state_committed(struct session *s);
/* Do the work that was put off until the result was sent: evict checkpoints and have guards made.
 */
void save_state_done(struct session *s);
/* Handle the GUARD frame of @p's driver. */
void save_state_guard(struct session_driver *p, json_t *guard);
/* Can init tell which processes existed before a step of @runtime? If false, step_proceed() will be
 * called when it can. */
bool save_state_is_marked(struct session *s, const struct runtime *runtime);
/* Return the name of the checkpoint of the state before the step, or NULL. */
const char *save_state_checkpoint(struct session *s);

/* save_files.c: save the files as they are between two steps. Returns: false while they are being
 * read; restore_proceed() and step_proceed() follow. */
bool save_files_idle(struct session *s);
/* Save the files right before a step; a workspace to which others on the host write is listed
 * again. */
bool save_files_before(struct session *s);
/* Exclude the files in @saving from the head's checkpoint: a file has changed since. */
void save_files_is_behind(struct session *s);
/* Return the newest saved files, or NULL. While their contents are being read, only hold them and
 * read their list. */
struct shadow *save_files_newest(const struct session *s);
/* Return the list of the workspace's files at the end of the last step. */
const struct workspace *session_files(const struct session *s);

/* restore.c: restore the files of @s to the state @then. @done gets a list of paths that could not
 * be restored (owned by the callee), or NULL. After a failed step, files in /tmp and /dev/shm that
 * are newer than restore_note() are removed as well; changed files there stay changed.
 * restore_note() may run on any thread. */
void restore_note(struct workspace scratch[RESTORE_SCRATCH], const struct box *box);
void restore_files(
	struct session *s, struct shadow *then, void (*done)(struct session *s, json_t *lost));
/* Begin a restoration that has waited for files to be read. */
void restore_proceed(struct session *s);
void restore_cancel(struct session *s);

/* change.c: continue a client's change, when there is a box; or fail it with @why, when there will
 * be none. */
void change_proceed(struct session *s, const char *why);
void change_cancel(struct session *s);

/* tool_call.c */
/* Handle a TOOL frame of the step's driver. Errors: ERR_PROTOCOL. */
int tool_calls_take(struct session_driver *p, const struct frame *frame, struct err *err);

/* Handle a WAITING frame of the step's driver: the step waits for its stdin. If more stdin can be
 * written, notify the listener and pause the wall clock until then. If the step is being stopped,
 * send SIGINT once more, because Python's input() ignores a SIGINT that arrives while it writes its
 * prompt. */
void tool_calls_read(struct session *s);

/* Cancel the pending tool calls of a step that is being stopped. Returns: whether the box still
 * waits for responses, which tool_calls_refuse() sends. */
bool tool_calls_stop(struct session *s);
void tool_calls_refuse(struct session *s);

/* Cancel the pending tool calls of a step that is over. The box gets no response. */
void tool_calls_end(struct session *s);
