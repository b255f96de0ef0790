/*
 * A session from the inside: shared by the files that implement it, and by no other file.
 *
 *   session.c          opening and closing, the box
 *   drivers.c          the drivers, one for each runtime in use
 *   running.c          the step: actions of the table in step/step.c, clocks, the record
 *   complete_record.c  the record gets its list of files and its name
 *   tool_call.c        tool calls that the code makes
 *   idle_limits.c      processes that steps have left behind keep to the limits
 *   transaction.c      what follows a step: commit or rollback; undo
 *   rolling_back.c     the rollback: actions of the table in step/rollback.c
 *   save_state.c       checkpoints
 *   save_files.c       the files in them
 *   restore.c          files of the workspace are put back
 *   rebuild.c          the state of one runtime is rebuilt by running its steps again
 *   stemming.c         the session becomes a stem, to be branched
 *   change.c           a file is changed from outside
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

/* How far a SETUP goes: the driver learns its session's name; it also prepares for its first step;
 * it also makes a guard. */
enum setup { SETUP_NAME, SETUP_WARM, SETUP_GUARD };

enum session_state { SESSION_MAKING, SESSION_OPEN, SESSION_ENDED, SESSION_CLOSING };

/* One runtime of the session, and its driver, if there is one. */
struct session_driver {
	struct session *session;
	const struct runtime *runtime;
	struct driver *driver; /* NULL: not started, or lost */
	int32_t pid;	       /* of the driver, as the box sees it; 0: unknown */
	int32_t arm_pid; /* of a second process in which it runs the code (an interpreter), or 0 */
	bool is_going;	 /* the rollback under way ends or replaces it */
	bool is_live;	 /* the driver has the state of the session's steps */
	bool is_unnamed; /* the driver may not know the session's name */
	bool is_interrupted; /* an interrupt was sent for its last step, and may still arrive */
	uint64_t version;    /* the last step that counts; 0: none in this box */
	struct state_text *state; /* the state that it last sent, for the next driver; or NULL */
	bool is_loss_told;	  /* the record says already what @state lacks */
	struct guard *guard;	  /* a frozen copy of the state that it has; held, or NULL */
	uint64_t due_id;   /* of the STEP or SETUP after which it makes a guard; 0: it makes none */
	bool is_due_said;  /* CHECKPOINT was sent */
	uint64_t setup_id; /* of the SETUP that it has not answered yet, or 0 */
	uint64_t last_call;	       /* the number of its last call, or 0 */
	char no_guard[NO_GUARD_BYTES]; /* why its state has no checkpoint; or empty */
	char barred[NO_GUARD_BYTES];   /* why it cannot be branched; or empty */
};

/* The calls that a running step waits for; see tool_call.c. */
struct waiting;
/* Limits of a step; a call beyond them is answered with ToolLimit. */
enum { CALLS_STEP_MAX = 10000, CALLS_STEP_BYTES = 256 << 20 };
/* Limits of the arguments of all waiting calls of a session: their text, and their parsed values.
 */
enum { CALLS_HELD_BYTES = 16 << 20, CALLS_HELD_PARTS = 200000 };

struct tool_calls {
	struct waiting *first; /* in the order in which they were made */
	unsigned n;
	unsigned n_held; /* how many stop the clock, with a read of input */
	size_t bytes, parts;
	unsigned n_made;       /* in the step */
	uint64_t answer_bytes; /* likewise */
	bool is_reading;       /* the step waits for its input, which stops the clock */
};

/* Puts files back, one request at a time; see restore.c. */
struct restore;
struct change;
/* Reads files for a checkpoint; see save_files.c. */
struct files_saving;

/* What the box uses between two steps. */
struct idle_limits {
	uint64_t base_us, seen_us; /* CPU time when the step ended, and at the last look */
	uint64_t delay_ms;
	bool is_swept;	      /* processes of earlier steps were ended since the last step */
	const char *said;     /* the sentence about that for the next record, or NULL */
	const char *said_now; /* the sentence for the record of the step under way, or NULL */
};

/* The rollback under way. */
struct rollback {
	enum rollback_state state;
	enum rollback_cause cause;
	struct session_driver *failed;	/* whose driver ends in any case, or NULL */
	struct session_driver *resumed; /* whose guard becomes its driver, or NULL */
	struct session_driver *lead;	/* by whose name init answers, or NULL */
	struct checkpoint *target;	/* held; NULL: only @failed ends */
	session_undone_fn *undone;	/* of ROLLBACK_UNDO, else NULL */
	void *undone_arg;
};

struct session {
	struct session_events events;
	struct engine *engine;
	const struct order_checked *order;
	const char *const *preload;
	bool is_once, is_template;
	unsigned n_refused; /* how often in a row its stem made no branch for it */
	bool is_lost;	    /* its state is not that of its head; see session_is_lost() */
	enum session_state state;
	char id[RECORD_ID_BYTES];
	char head[DIGEST_BYTES];
	struct limits limits;
	uint64_t last_id; /* of a STEP or SETUP */
	size_t n_handles; /* libuv handles that are open, or closing */

	struct box *box;      /* NULL before it is made, and after the session was branched */
	struct stem *stem;    /* its next box is a branch of this; held, or NULL */
	struct stem *base;    /* its box is a branch of this, and unchanged since; held, or NULL */
	bool is_continuation; /* the next box continues the stem's random numbers */
	bool is_rewound;      /* its next box is a branch of an earlier state: until it has it */
	struct branching *branching;
	struct session_driver drivers[RUNTIMES_MAX];
	struct checkpoints points;
	struct workspace before; /* files of the workspace when the last step ended */
	struct workspace scratch[RESTORE_SCRATCH]; /* /tmp and /dev/shm, when the last step ended */
	struct shadow *shadow;			   /* with their bytes; may be older than @before */
	bool is_shadow_due;			   /* `before` is newer than `shadow` */
	bool is_shared_seen;	     /* @before is listed again already: others write there */
	struct files_saving *saving; /* reads the bytes for the next @shadow; or NULL */
	bool is_warm_due; /* its driver has not prepared for a step since it was branched */
	bool is_urgent;	  /* it is counted in the engine's n_urgent */
	uint64_t idle_ns; /* when it became idle */
	uv_timer_t idle;
	int stdin_fd;
	struct stdin_copy stdin_copy;
	bool has_stdin_copy;

	/* the step */
	enum step_state step_state;
	uint64_t step_id;
	struct step_order *step;	      /* held until the step is done; or NULL */
	const struct step_listener *listener; /* of the step, or NULL */
	struct fence fence;		      /* around the step's code */
	struct session_driver *step_driver;   /* in which the step runs */
	struct step_end end;
	char why[ERR_MSG_BYTES];
	struct record record;
	bool has_record;
	uint64_t asked_ns, began_ns;
	int64_t sent_ns; /* by the clock of lost_files_now_ns() */
	uint64_t base_cpu_us, base_ooms, last_cpu_us, last_ooms;
	struct idle_limits idle_limits;
	bool is_base_due; /* the next answer about usage sets base_cpu_us */
	struct tool_calls calls;
	struct deadline wall;
	uv_timer_t meter;
	enum step_cause wall_cause; /* why the step ends when @wall is over */
	uint64_t wall_left_ms;	    /* left of @wall while it stands still, since @paused_ns */
	uint64_t paused_ns;
	char no_guard[NO_GUARD_BYTES]; /* why the step has no checkpoint; or empty */
	char notice[LOSS_BYTES];       /* what the next record says is lost */
	char told[2 * LOSS_BYTES];     /* what the record of the step says is lost */
	struct rollback rollback;
	uint32_t last_mark, marked; /* marks: sent to init, and answered */
	struct deadline back;	    /* how long a rollback may take */
	struct restore *restoring;
	struct change *change; /* a change from outside; see change.c */
	struct shadow *kept;   /* the files when a rebuilding began; held, or NULL */
	int64_t rebuild_ns;    /* when it began, by the clock of lost_files_now_ns() */
	bool is_rebuilding;
	bool is_scratch_kept; /* @scratch stays as of then until it ends */
	session_rebuilt_fn *rebuilt;
	void *rebuilt_arg;
	char checkpoint[24]; /* its name in the record */
	json_t *lost;	     /* paths that could not be put back; or NULL */

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
/* Others may go on holding the box. */
void session_let_go_box(struct session *s);
int session_get_box(struct session *s, struct err *err);
int session_open_stdin(struct session *s, int *theirs, struct err *err);
void session_on_idle(uv_timer_t *timer);
void session_set_urgent(struct session *s, bool is_urgent);

/* stemming.c */
/* Processes that may be in the box beside the drivers: their second processes, and guards. */
enum { SESSION_KNOWN_MAX = CHECKPOINTS_MAX + RUNTIMES_MAX };
size_t session_list_known(const struct session *s, int32_t pids[SESSION_KNOWN_MAX]);
void session_count(struct session *s);
void session_no_stem(struct session *s, const struct err *err);

/* drivers.c */
extern const struct driver_events session_driver_events;
/* Start the driver of a runtime, unless it runs already. Errors: ERR_RUNTIME, ERR_BOX. */
int session_driver_start(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err);
/* The same; a new driver also gets its SETUP. */
int session_driver_ensure(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err);
/* Take over a driver that is ready. */
struct session_driver *session_driver_adopt(struct session *s, struct driver *d);
struct session_driver *python_driver(struct session *s);
int session_driver_setup(struct session_driver *p, enum setup what, struct err *err);
/* Send CHECKPOINT, if a guard is due and the driver was not asked for it yet. */
void session_driver_ask_guard(struct session_driver *p);
/* Does the driver certainly wait for a frame, so that it begins a step as soon as STEP is sent?
 * False where it may have other work, where threads may take its signals, and where an old
 * interrupt may still arrive. */
bool session_driver_is_waiting(const struct session_driver *p);
/* The next record says which part of the state the next driver will lack. */
void session_driver_tell_loss(struct session_driver *p);
void session_driver_lose(struct session_driver *p);
void session_drivers_lose(struct session *s);

/* running.c */
void step_event(struct session *s, enum step_event event);
void step_stop(struct session *s, enum step_cause cause, enum step_event event, const char *why);
void step_began(struct session *s);
void step_proceed(struct session *s);
/* Withdraw a step that waits for a box: the registry runs it when the state has been rebuilt.
 * Returns: whether there was such a step. */
bool step_give_back(struct session *s);
/* The wall clock stops while calls wait, but the step takes at most WALL_TIMES its limit in all. */
void step_pause(struct session *s);
void step_resume(struct session *s);
void step_interrupt_again(struct session *s);

/* If some memory was not counted, the record says that the limit is not enforced. */
void step_note_uncounted(struct session *s, const struct box_usage *usage);
void step_measured(void *arg, const struct box_usage *usage);
void step_take_output(struct session *s, int stream, const char *data, size_t bytes);

/* idle_limits.c: watch what the box uses until the next step begins. */
void idle_limits_watch(struct session *s);
/* A step begins: its record says what was ended before it. */
void idle_limits_tell(struct session *s);

/* transaction.c */
void transaction_settle(struct session *s);
/* Read what the box has used. With the answer STEP_SETTLED follows, or ROLLBACK_COUNTED before
 * that. */
void transaction_read_books(struct session *s);
/* A driver died between two steps. Returns: false when no copy of it can take its place. */
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
/* The checkpoint of the state after @step, if the session can go back to it now; or NULL. @failed:
 * the driver that ends in any case, or NULL. */
struct checkpoint *rollback_point(
	struct session *s, const struct session_driver *failed, const char *step);
/* Is the Python of @c not in this box, but in other branches of its stem? */
bool rollback_must_leave(
	struct session *s, const struct session_driver *failed, const struct checkpoint *c);
/* If an undo to @c resumes a process, is that process alive? */
bool rollback_can_resume(struct session *s, const struct checkpoint *c);
/* Go back to @to in this box (NULL: only the driver of @failed ends), or with another box. */
void rollback_stay(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to);
void rollback_leave(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to);
/* The box is gone when a step is settled. */
void rollback_lose(struct session *s, const struct err *err);
/* @err: the story of ROLLBACK_FAILED and ROLLBACK_EXITED, else NULL. */
void rollback_event(struct session *s, enum rollback_event event, const struct err *err);
/* @p has sent READY; its process has ended. Outside of a rollback these do nothing. */
void rollback_ready(struct session_driver *p, const json_t *said);
void rollback_exited(struct session_driver *p);

/* save_state.c */
/* The box is new: make a checkpoint of the head's state in it. */
void save_state_begin(struct session *s);
/* A step was committed: make a checkpoint of the state that it left. */
void save_state_step(struct session *s);
/* A file was changed from outside: likewise. */
void save_state_changed(struct session *s);
/* The step has its name now; its checkpoint gets the name too. */
void save_state_committed(struct session *s);
/* The result is out: now do what nobody waits for, unless it is done already. */
void save_state_done(struct session *s);
/* The driver has sent GUARD. */
void save_state_guard(struct session_driver *p, json_t *guard);
/* Does init know what was in the box before a step of @runtime? If false, step_proceed() follows.
 */
bool save_state_is_marked(struct session *s, const struct runtime *runtime);
/* The name of the checkpoint of the state before the step, for the record; or NULL. */
const char *save_state_checkpoint(struct session *s);

/* save_files.c: keep the files as they are between two steps. Returns: false while they are being
 * read; restore_proceed() and step_proceed() follow. */
bool save_files_idle(struct session *s);
/* The same before a step, for a workspace to which others on the host write too. */
bool save_files_before(struct session *s);
/* The files that are being read do not belong to the head's checkpoint any more. */
void save_files_is_behind(struct session *s);
/* The newest kept files, or NULL. While they are being read, they may only be held and listed. */
struct shadow *save_files_newest(const struct session *s);
/* The files of the workspace when the last step ended. */
const struct workspace *session_files(const struct session *s);

/* restore.c: bring the files of @s back to @then. @done gets a list of paths that are lost (owned
 * by the callee), or NULL. After a failed step, what is new in /tmp and /dev/shm since
 * restore_note() is removed as well; a changed file there stays changed. restore_note() may run on
 * any thread. */
void restore_note(struct workspace scratch[RESTORE_SCRATCH], const struct box *box);
void restore_files(
	struct session *s, struct shadow *then, void (*done)(struct session *s, json_t *lost));
/* Begin, if the restoring has waited for files that were being read. */
void restore_proceed(struct session *s);
void restore_cancel(struct session *s);

/* change.c: there is a box now; or (@why) there will be none. */
void change_proceed(struct session *s, const char *why);
void change_cancel(struct session *s);

/* tool_call.c */
/* The step's driver has sent TOOL. Errors: ERR_PROTOCOL. */
int tool_calls_take(struct session_driver *p, const struct frame *frame, struct err *err);

/* The step's driver has sent WAITING: the step waits for its input. If that is open, the listener
 * is told, and the clock stops until something is written. If the step is being stopped, it is
 * interrupted once more: Python's input() drops an interrupt that arrives while it writes its
 * prompt.
 */
void tool_calls_read(struct session *s);

/* The step is being stopped: cancel its calls outside. Returns: whether the box still waits for
 * answers; tool_calls_refuse() gives them. */
bool tool_calls_stop(struct session *s);
void tool_calls_refuse(struct session *s);

/* The step is over: cancel its calls, and tell the box nothing. */
void tool_calls_end(struct session *s);
