/*
 * A session from the inside: shared by the files that carry it, seen by no other.
 *
 *   session.c          opening and closing, its box
 *   drivers.c          its drivers, one for each runtime in use
 *   running.c          the step: the table's actions, clocks, the record
 *   complete_record.c  its record is named
 *   tool_call.c        calls that its code makes of the outside
 *   idle_limits.c      what steps have left behind keeps to the limits
 *   transaction.c      what follows a step: its state is kept, or the one before comes back; undo
 *   rolling_back.c     the rollback: the actions of the table in step/rollback.c
 *   save_state.c       what a state is kept as
 *   save_files.c       its files
 *   stemming.c         the session becomes a stem, to be branched
 *   rebuild.c          the state of one runtime made again
 *   restore.c          the workspace's files put back
 *   change.c           a file changed from outside
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

/* What a driver hears of what it is to be: its name; and it gets ready for steps; and makes a
 * guard. */
enum setup { SETUP_NAME, SETUP_WARM, SETUP_GUARD };

enum session_state { SESSION_MAKING, SESSION_OPEN, SESSION_ENDED, SESSION_CLOSING };

/* A runtime in use. */
struct session_driver {
	struct session *session;
	const struct runtime *runtime;
	struct driver *driver;	  /* NULL: not started, or lost */
	int32_t pid;		  /* of the driver, as the box sees it; 0: not known */
	int32_t arm_pid;	  /* of the process that it works by, or 0 */
	bool is_going;		  /* in the rollback under way */
	bool is_live;		  /* the driver has the state of the session's steps */
	bool is_unnamed;	  /* the driver may not know what the session is called */
	bool is_interrupted;	  /* an interrupt was sent for its last step, and may come late */
	uint64_t version;	  /* the last step of it that counts; 0: none in this box */
	struct state_text *state; /* what it last said of itself, for the next driver; or NULL */
	bool is_loss_told;	  /* what that lacks, since the driver is gone */
	struct guard *guard;	  /* of the state it has; held, or NULL */
	uint64_t due_id;	  /* of the STEP or SETUP after which it is making a guard, or 0 */
	bool is_due_said;	  /* it has been told to */
	uint64_t setup_id;	  /* of the SETUP that is not answered yet, or 0 */
	uint64_t last_call;	  /* the number of its last call, or 0 */
	char no_guard[NO_GUARD_BYTES]; /* why there is no checkpoint of the state it has; or empty
					*/
	char barred[NO_GUARD_BYTES];   /* why a branch of it would fail; or empty */
};

/* The calls that the code of a running step waits for; see tool_call.c. */
struct waiting;
/* Of a step: what is beyond is answered with ToolLimit. */
enum { CALLS_STEP_MAX = 10000, CALLS_STEP_BYTES = 256 << 20 };
/* Of the arguments of all calls that wait in a session, as they came and when they are parsed. */
enum { CALLS_HELD_BYTES = 16 << 20, CALLS_HELD_PARTS = 200000 };

struct tool_calls {
	struct waiting *first; /* in the order in which they were made */
	unsigned n;
	unsigned n_held; /* of those, how many the clock stands still for */
	size_t bytes, parts;
	unsigned n_made;       /* in the step */
	uint64_t answer_bytes; /* likewise */
	bool is_reading;       /* it waits for its input, and the clock stands still for that */
};

/* What puts files back, one request at a time; see restore.c. */
struct restore;
struct change;
/* What reads files that are to be kept; see save_files.c. */
struct files_saving;

/* What goes on in the box between two steps. */
struct idle_limits {
	uint64_t base_us, seen_us; /* CPU time: when the step ended, and at the last look */
	uint64_t delay_ms;
	bool is_swept;	      /* what steps had left was ended, since the last step */
	const char *said;     /* of that, for the next record; or NULL */
	const char *said_now; /* for the record of the step under way */
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
	unsigned n_refused; /* how often in a row its stem has made no branch for it */
	bool is_lost;	    /* its state is not what its head says; see session_is_lost() */
	enum session_state state;
	char id[RECORD_ID_BYTES];
	char head[DIGEST_BYTES];
	struct limits limits;
	uint64_t last_id; /* of a STEP or SETUP */
	size_t n_handles; /* whose close is not done */

	struct box *box;      /* NULL before it is made, and after the session was branched */
	struct stem *stem;    /* what its box will be branched from; held */
	struct stem *base;    /* held: what its box was branched from, while it is still the same */
	bool is_continuation; /* of its box: chance goes on where the stem's stood */
	bool is_rewound;      /* its next box is a branch of an earlier state: until it has it */
	struct branching *branching;
	struct session_driver drivers[RUNTIMES_MAX];
	struct checkpoints points;
	struct workspace before;		   /* the files when the last step ended */
	struct workspace scratch[RESTORE_SCRATCH]; /* /tmp and /dev/shm, when the last step ended */
	struct shadow *shadow;	     /* the same with their bytes; behind `before` until idle */
	bool is_shadow_due;	     /* `before` is newer than `shadow` */
	bool is_shared_seen;	     /* so it is where others write, too, for the step that waits */
	struct files_saving *saving; /* reads what will be `shadow`; or NULL */
	bool is_warm_due;	     /* its driver has run nothing since it was branched */
	bool is_urgent;		     /* its step is among the engine's n_urgent */
	uint64_t idle_ns;	     /* since when there is time */
	uv_timer_t idle;
	int stdin_fd;
	struct stdin_copy stdin_copy;
	bool has_stdin_copy;

	/* the step */
	enum step_state step_state;
	uint64_t step_id;
	struct step_order *step;	      /* held until it is done; or NULL */
	const struct step_listener *listener; /* of it, or NULL */
	struct fence fence;		      /* of its code */
	struct session_driver *step_driver;   /* in which it runs */
	struct step_end end;
	char why[ERR_MSG_BYTES];
	struct record record;
	bool has_record;
	uint64_t asked_ns, began_ns;
	int64_t sent_ns; /* by the clock of lost_files_now_ns() */
	uint64_t base_cpu_us, base_ooms, last_cpu_us, last_ooms;
	struct idle_limits idle_limits;
	bool is_base_due; /* the next answer about the books says what base_cpu_us is */
	struct tool_calls calls;
	struct deadline wall;
	uv_timer_t meter;
	enum step_cause wall_cause; /* of the step's end, when the clock gets there */
	uint64_t wall_left_ms;	    /* while it stands still, since @paused_ns */
	uint64_t paused_ns;
	char no_guard[NO_GUARD_BYTES]; /* why the step runs without a checkpoint; or empty */
	char notice[LOSS_BYTES];       /* for the next record */
	char told[2 * LOSS_BYTES];     /* in this one */
	struct rollback rollback;
	uint32_t last_mark, marked; /* said to init, and answered */
	struct deadline back;	    /* ends a rollback that does not come to an end */
	struct restore *restoring;
	struct change *change; /* from outside; see change.c */
	struct shadow *kept;   /* held: the files when a rebuilding began */
	int64_t rebuild_ns;    /* when that was, by the clock of lost_files_now_ns() */
	bool is_rebuilding;
	bool is_scratch_kept; /* @scratch is what it was then, and stays so until that is over */
	session_rebuilt_fn *rebuilt;
	void *rebuilt_arg;
	char checkpoint[24]; /* as the record calls it */
	json_t *lost;	     /* paths that could not be put back */

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
/* Others may hold it on. */
void session_let_go_box(struct session *s);
int session_get_box(struct session *s, struct err *err);
int session_open_stdin(struct session *s, int *theirs, struct err *err);
void session_on_idle(uv_timer_t *timer);
void session_set_urgent(struct session *s, bool is_urgent);

/* stemming.c */
/* What is known beside drivers as one that may be in its box: their other processes, and guards. */
enum { SESSION_KNOWN_MAX = CHECKPOINTS_MAX + RUNTIMES_MAX };
size_t session_list_known(const struct session *s, int32_t pids[SESSION_KNOWN_MAX]);
void session_count(struct session *s);
void session_no_stem(struct session *s, const struct err *err);

/* drivers.c */
extern const struct driver_events session_driver_events;
/* The part of a runtime, its driver started when there is none. Errors: ERR_RUNTIME, ERR_BOX. */
int session_driver_start(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err);
/* The same, and a new one is told what it is to be. */
int session_driver_ensure(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err);
/* Take over a driver that is ready. */
struct session_driver *session_driver_adopt(struct session *s, struct driver *d);
struct session_driver *python_driver(struct session *s);
int session_driver_setup(struct session_driver *p, enum setup what, struct err *err);
/* The driver is to make the guard that is due, if it has not been told yet. */
void session_driver_ask_guard(struct session_driver *p);
/* Does its driver wait for a frame, so that it reads a STEP as soon as that is sent? Where it may
 * have other work, where threads may take its signals, and where an old interrupt may be on its
 * way, no. */
bool session_driver_is_waiting(const struct session_driver *p);
/* The next record says what the next driver will not have of the state. */
void session_driver_tell_loss(struct session_driver *p);
void session_driver_lose(struct session_driver *p);
void session_drivers_lose(struct session *s);

/* running.c */
void step_event(struct session *s, enum step_event event);
void step_stop(struct session *s, enum step_cause cause, enum step_event event, const char *why);
void step_began(struct session *s);
void step_proceed(struct session *s);
/* A step that waits for a box is given back, to be run when the state has been made again. Returns:
 * whether there is one. */
bool step_give_back(struct session *s);
/* The wall clock stands still while calls wait, but for no longer than WALL_TIMES its limit in all.
 */
void step_pause(struct session *s);
void step_resume(struct session *s);
void step_interrupt_again(struct session *s);
/* The box's books: box_usage_fn. */
/* The record tells a limit of memory that may not have held. */
void step_note_uncounted(struct session *s, const struct box_usage *usage);
void step_measured(void *arg, const struct box_usage *usage);
void step_take_output(struct session *s, int stream, const char *data, size_t bytes);

/* idle_limits.c: the step has ended; look at the books until the next one. */
void idle_limits_watch(struct session *s);
/* A step begins, which is told what there was. */
void idle_limits_tell(struct session *s);

/* transaction.c */
void transaction_settle(struct session *s);
/* What the box has used is the step's last event: STEP_SETTLED, or ROLLBACK_COUNTED before that. */
void transaction_read_books(struct session *s);
/* The driver died between two steps. Returns: false when there is no copy of it. */
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
 * the part whose driver ends in any case, or NULL. */
struct checkpoint *rollback_point(
	struct session *s, const struct session_driver *failed, const char *step);
/* Its Python is not in this box: another branch of the stem has it. */
bool rollback_must_leave(
	struct session *s, const struct session_driver *failed, const struct checkpoint *c);
/* Is the process alive that an undo to @c resumes, if it resumes one? */
bool rollback_can_resume(struct session *s, const struct checkpoint *c);
/* Go back to @to in this box (NULL: the driver of @failed ends, and nothing else); or in another.
 */
void rollback_stay(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to);
void rollback_leave(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to);
/* The box is gone when a step is settled. */
void rollback_lose(struct session *s, const struct err *err);
/* @err: of ROLLBACK_FAILED and ROLLBACK_EXITED. */
void rollback_event(struct session *s, enum rollback_event event, const struct err *err);
/* READY of @p; the end of its process. Either may be of no rollback. */
void rollback_ready(struct session_driver *p, const json_t *said);
void rollback_exited(struct session_driver *p);

/* save_state.c */
/* The box is new: its state is that of the head. */
void save_state_begin(struct session *s);
/* A step has left the state that there is now. */
void save_state_step(struct session *s);
/* The same for a file that was changed from outside. */
void save_state_changed(struct session *s);
/* That step has its name. */
void save_state_committed(struct session *s);
/* The result is out: now for what nobody waits for, in case it is not done yet. */
void save_state_done(struct session *s);
/* What GUARD says; @fd taken over, or -1. */
void save_state_guard(struct session_driver *p, json_t *guard);
/* Can a step of @runtime begin? If not, step_proceed() follows. */
bool save_state_is_marked(struct session *s, const struct runtime *runtime);
/* What the record calls the checkpoint of the state before the step, or NULL. */
const char *save_state_checkpoint(struct session *s);

/* save_files.c: the files as they are between two steps. Returns: false while they are being read;
 * restore_proceed() and step_proceed() follow. */
bool save_files_idle(struct session *s);
/* The same before a step: others write to a host's directory, too. */
bool save_files_before(struct session *s);
/* Those that are being read are not what a checkpoint of the head has any more. */
void save_files_is_behind(struct session *s);
/* The newest that were kept, or NULL: while they are being read, to be held and listed only. */
struct shadow *save_files_newest(const struct session *s);
/* What the workspace held when the last step ended. */
const struct workspace *session_files(const struct session *s);

/* restore.c: bring the files of @s back to @then; @done with a list of paths that are lost (owned
 * by the callee), or NULL. After a step that has failed, what is new in /tmp and /dev/shm since
 * restore_note() is removed as well; what was changed there stays changed. Any thread may note. */
void restore_note(struct workspace scratch[RESTORE_SCRATCH], const struct box *box);
void restore_files(
	struct session *s, struct shadow *then, void (*done)(struct session *s, json_t *lost));
/* Files that are being read (save_files_idle()) are waited for. */
void restore_proceed(struct session *s);
void restore_cancel(struct session *s);

/* change.c: there is a box, or @why there is none. */
void change_proceed(struct session *s, const char *why);
void change_cancel(struct session *s);

/* tool_call.c */
/* A TOOL frame of the step's driver. Errors: ERR_PROTOCOL. */
int tool_calls_take(struct session_driver *p, const struct frame *frame, struct err *err);

/*
 * A WAITING frame: the step waits for its input. When its stdin_queue is open, its listener is
 * told, and the clock stands still until something is written. One that is being stopped is
 * interrupted once more: Python's input() drops an interrupt that comes while it writes what it
 * asks.
 */
void tool_calls_read(struct session *s);

/* The step is being stopped: outside nobody is to answer any more. Returns: whether anybody waits
 * in the box: tool_calls_refuse() tells them. */
bool tool_calls_stop(struct session *s);
void tool_calls_refuse(struct session *s);

/* It is over: nobody waits any more, and the box is told nothing. */
void tool_calls_end(struct session *s);
