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
 *   processes.c        starts programs for clients, and keeps a list of them
 *   networking.c       gives each box the network of the session's rules, and reports its use
 *   process_list.c     lists all processes of the box, and counts their CPU time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "session/box/checkpoint.h"
#include "session/box/deadline.h"
#include "session/box/driver.h"
#include "session/box/stdin_copy.h"
#include "session/fence.h"
#include "session/net/network.h"
#include "session/processes.h"
#include "session/session.h"
#include "session/step/rollback.h"
#include "session/step/step.h"

/* The programs that clients started; see processes.c. */
struct process_waiter;
enum { STEP_TIMES = 32 };
struct processes {
	struct process *first; /* newest first */
	unsigned n_running;
	uint64_t output_bytes; /* limit of what is kept of the output of all of them */
	/* A process has run since the workspace's files were last listed. */
	bool is_dirty;
	/* CPU time of the processes that are over. @base_us: CPU time of all processes when the
	 * step began. */
	uint64_t ended_cpu_us, base_us;
	uint64_t seen_us; /* CPU time of all processes when it was last measured */
	/* How many have ended with a box that the session gave up, since a record said so. */
	unsigned n_ended;
	/* What processes_count() has found, for the record, or NULL. */
	json_t *others;
	/* How many processes besides init, drivers and guards the box has when no step has left one
	 * running: the threads of drivers. */
	uint64_t n_usual;
	/* Who waits for a list of the box's processes, oldest first. */
	struct process_waiter *waiters;
	struct deadline late; /* for init's list */
	struct box *listed;   /* counted reference to the box that init lists, or NULL */
	int list_fd;
	uint64_t list_ns; /* when init was asked for it */
	/* When the last steps began, in ms since the host booted: a process that a step left
	 * running is one of the step that began last before it. */
	struct step_time {
		uint64_t began_ms;
		char step[DIGEST_BYTES]; /* "": the step is not committed */
	} times[STEP_TIMES];
	uint64_t n_times;
};

/* The access to the network; see networking.c. */
struct networking {
	/* @rules: NULL or no rule: no box of the session gets a network. @before: while
	 * session_set_rules() puts new rules in force, those from before, or NULL. */
	struct rules *rules, *before;
	struct secrets *secrets; /* NULL: none */
	struct network *network; /* that of the session's box, or NULL */
	/* The network of a box that the session gave up during the step, until the report about it
	 * is in the step's record; or NULL. */
	struct network *left;
	bool is_opening;  /* inside network_open() */
	bool is_set_due;  /* new rules wait until the box has its network */
	uint64_t lost_ns; /* when the gateway has died last, by uv_hrtime() */
	bool is_ready;	  /* @network has its rules, or @err says why not */
	bool has_network; /* @network has had rules in force */
	struct err err;
	/* What the next record says about connections that were lost with the gateway, or "". */
	char lost[LOSS_BYTES];
	struct question *questions; /* consent.c */
	bool has_asked;		    /* the gateway has asked since consent_forget() */
	void (*reported)(struct session *s);
	session_rules_fn *set; /* caller of session_set_rules(), or NULL */
	void *set_arg;
};

/* A step may exceed a CPU limit that was derived from the wall limit by this much, so that the wall
 * clock ends the step first. It is two periods of a CPU quota. */
enum { CPU_SLACK_US = 200000 };
enum { NO_GUARD_BYTES = 240, RESTORE_SCRATCH = 2, WALL_TIMES = 10 };

/*
 * What a SETUP frame asks of a driver. Each value includes the values before it.
 *
 * SETUP_NAME   Take the session's name.
 * SETUP_WARM   Prepare for the first step.
 * SETUP_GUARD  Make a guard.
 */
enum setup { SETUP_NAME, SETUP_WARM, SETUP_GUARD };

enum session_state { SESSION_MAKING, SESSION_OPEN, SESSION_ENDED, SESSION_CLOSING };

/* A runtime of the session, with its driver (if started) and that driver's state. */
struct session_driver {
	struct session *session;
	const struct runtime *runtime;
	struct driver *driver; /* NULL before the driver starts and after it is lost */
	int32_t pid;	       /* process id of the driver in the box, or 0 if not known */
	int32_t arm_pid;       /* process id of the interpreter that the driver started, or 0 */
	bool is_going;	       /* the rollback in progress ends or replaces the driver */
	bool is_live;	       /* the driver has the state that the session's steps left */
	bool is_unnamed;       /* the driver may not know the session's name yet */
	bool is_interrupted;   /* SIGINT was sent for the last step and may still be pending */
	uint64_t version;      /* id of the runtime's last committed step in this box, or 0 */
	/* The text of the last STATE frame that a driver of this runtime has sent, or NULL. The
	 * next driver continues from this text. */
	struct state_text *state;
	/* True: the session's notice already reports the losses of @state, which are the parts of
	 * the runtime's state that are not in the text. */
	bool is_loss_told;
	struct guard *guard; /* counted reference to the guard of the present state, or NULL */
	/* Id of the STEP or SETUP for which the driver still has to send GUARD, or 0. */
	uint64_t due_id;
	bool is_due_said;   /* CHECKPOINT was sent for @due_id */
	uint64_t setup_id;  /* id of the SETUP to which the driver has not responded, or 0 */
	uint64_t last_call; /* number of the driver's last tool call, or 0 */
	char no_guard[NO_GUARD_BYTES]; /* reason why the state has no checkpoint, or "" */
	char barred[NO_GUARD_BYTES];   /* reason why the driver cannot be branched, or "" */
};

/* A tool call whose response is pending; see tool_call.c. */
struct waiting;
/* Limits of one step: number of its tool calls, and size of all their responses. A call beyond a
 * limit fails with ToolLimit. */
enum { CALLS_STEP_MAX = 10000, CALLS_STEP_BYTES = 256 << 20 };
/* Limits of the arguments of all pending tool calls of a session: size as text, and number of
 * JSON values. */
enum { CALLS_HELD_BYTES = 16 << 20, CALLS_HELD_PARTS = 200000 };

struct tool_calls {
	struct waiting *first; /* pending calls, oldest first */
	unsigned n;
	/* number of tool calls and reads of stdin for which the wall clock is paused */
	unsigned n_held;
	size_t bytes, parts;
	unsigned n_made;       /* number of calls in this step */
	uint64_t answer_bytes; /* size of all responses in this step */
	bool is_reading;       /* the step waits for its stdin, so the wall clock is paused */
};

/* A restoration of files that is in progress, see restore.c. */
struct restore;
struct change;
/* A pass that reads file contents for a checkpoint, see save_files.c. */
struct files_saving;

/* Resource usage of the box between two steps, see idle_limits.c. */
struct idle_limits {
	/* @base_us: CPU time of the box when the last step ended or processes were last killed.
	 * @seen_us: CPU time of the box at the last measurement. @clients_us: CPU time of the
	 * processes of clients that is contained in @base_us. */
	uint64_t base_us, seen_us, clients_us;
	uint64_t delay_ms;
	unsigned n_sweeps; /* how often processes were killed since the last step */
	/* Notice for the next step's record that leftover processes were killed, or NULL. */
	const char *said;
	const char *said_now; /* notice for the current step's record, or NULL */
};

/* The rollback in progress. */
struct rollback {
	enum rollback_state state;
	enum rollback_cause cause;
	struct session_driver *failed;	/* runtime whose driver ends in any case, or NULL */
	struct session_driver *resumed; /* runtime whose guard becomes its driver, or NULL */
	/* runtime of the driver that init will name in its reply, or NULL */
	struct session_driver *lead;
	/* Counted reference to the checkpoint to return to. NULL: only end the driver of
	 * @failed. */
	struct checkpoint *target;
	session_undone_fn *undone; /* callback of session_undo(), else NULL */
	void *undone_arg;
};

struct session {
	struct session_events events;
	struct engine *engine;
	const struct order_checked *order;
	const char *const *preload;
	bool is_once, is_template, is_spent; /* is_spent: after a script, only its files are left */
	/* Number of failures to branch the next box from @stem since the last success. */
	unsigned n_refused;
	bool is_lost; /* the state is not that of @head, see session_is_lost() */
	enum session_state state;
	char id[RECORD_ID_BYTES];
	char head[DIGEST_BYTES];
	struct limits limits;
	uint64_t last_id; /* last id that was given to a frame for a driver */
	size_t n_handles; /* libuv handles and thread-pool jobs that are not closed yet */

	struct box *box; /* NULL before its creation, and after the session became a stem */
	/* Counted reference to the stem of which the next box will be a branch, or NULL. */
	struct stem *stem;
	/* Counted reference to a stem whose state equals the box's state, or NULL. */
	struct stem *base;
	bool is_continuation; /* the next box continues the stem's random numbers */
	bool is_rewound;      /* the next box will be a branch of an earlier state */
	struct branching *branching;
	struct session_driver drivers[RUNTIMES_MAX];
	struct checkpoints points;
	struct workspace before; /* files of the workspace when the last step ended */
	/* Files of /tmp and /dev/shm when the last step ended. */
	struct workspace scratch[RESTORE_SCRATCH];
	/* The workspace's files as they were last saved, with their bytes. NULL if no files were
	 * saved yet. The list @before may be newer. */
	struct shadow *shadow;
	/* The workspace was listed again, into @before, after the files were saved in @shadow. So
	 * @shadow may lack changes, and the files must be saved again. */
	bool is_shadow_due;
	/* The workspace was listed again, into @before, right before the current step. This is
	 * only done if others may have changed it: if it is a directory of the host, or if a
	 * process of a client has run. */
	bool is_shared_seen;
	struct files_saving *saving; /* the pass that reads files for the next @shadow, or NULL */
	bool is_warm_due; /* the branched driver has not yet prepared for its first step */
	bool is_urgent;	  /* the session is counted in the engine's n_urgent */
	uint64_t idle_ns; /* time at which the session became idle */
	uv_timer_t idle;
	int stdin_fd;
	struct stdin_copy stdin_copy;
	bool has_stdin_copy;

	struct processes processes;
	struct networking net;

	/* the current step */
	enum step_state step_state;
	uint64_t step_id;
	struct step_order *step; /* counted reference to the current step's order, or NULL */
	const struct step_listener *listener; /* listener of the current step, or NULL */
	struct fence fence;		      /* Markdown fence around the step's code */
	struct session_driver *step_driver;   /* driver that runs the step */
	/* When the step was requested, a live driver had the state, which only a repetition of its
	 * steps could restore. */
	bool was_live;
	struct step_end end;
	char why[ERR_MSG_BYTES];
	struct record record;
	bool has_record;
	uint64_t asked_ns, began_ns;
	int64_t sent_ns; /* time when STEP was sent, on the clock of lost_files_now_ns() */
	uint64_t base_cpu_us, base_ooms, last_cpu_us, last_ooms;
	struct idle_limits idle_limits;
	bool is_base_due; /* the next usage measurement sets base_cpu_us */
	struct tool_calls calls;
	struct deadline wall;
	uv_timer_t meter;
	enum step_cause wall_cause; /* cause with which the step ends when @wall expires */
	/* Used only while @wall is paused. @wall_left_ms: time that @wall had left when the
	 * pause began. @paused_ns: time when the pause began. */
	uint64_t wall_left_ms;
	uint64_t paused_ns;
	char no_guard[NO_GUARD_BYTES]; /* reason why the step has no checkpoint, or "" */
	/* Text for the next step's record: what the session's state has lost, or "". For
	 * example, a rollback or a branch loses open sockets. */
	char notice[LOSS_BYTES];
	/* Text in the current step's record, or "". It consists of @notice and of the notice that
	 * leftover processes were killed. */
	char told[4 * LOSS_BYTES];
	struct rollback rollback;
	/* @last_mark: number of the last mark that init was told to set. @marked: number of the
	 * last mark that init has confirmed. */
	uint32_t last_mark, marked;
	struct deadline back; /* time limit of a rollback, or of restoring files after a rebuild */
	struct restore *restoring;
	struct change *change; /* client's change of a file in progress, or NULL; see change.c */
	/* A rebuild runs the steps of one runtime again, see rebuild.c. @kept: counted reference
	 * to the saved files that are restored when the rebuild ends, or NULL. */
	struct shadow *kept;
	/* Time when the rebuild began, on the clock of lost_files_now_ns(). */
	int64_t rebuild_ns;
	bool is_rebuilding;
	/* When files are saved during a rebuild, @scratch stays as it is. So @scratch still lists
	 * the files that /tmp and /dev/shm had before the rebuild. */
	bool is_scratch_kept;
	session_rebuilt_fn *rebuilt;
	void *rebuilt_arg;
	char checkpoint[24]; /* text that save_state_checkpoint() returns */
	json_t *lost;	     /* paths that a rollback could not restore, or NULL */

	session_names_fn *named;
	void *named_arg;
	uint64_t named_id;
	session_stem_fn *stemmed;
	void *stemmed_arg;
	enum session_others others;
	bool is_count_due;
	/* While the session lends its driver for a branch: the stem that has borrowed the driver,
	 * the branch, and how many processes the branch will lack. Otherwise NULL. */
	struct stem *loan;
	struct branching *lent;
	unsigned n_others;
};

/* session.c */
void session_handle_gone(struct session *s);
void session_opened(struct session *s, const struct err *err);
void session_lose_box(struct session *s);
/* Drop the session's reference to its box. The box remains if it has other references. */
void session_let_go_box(struct session *s);
int session_get_box(struct session *s, struct err *err);
/* Refuse a step or a branch of a session that is spent. Errors: ERR_GONE. */
int session_refuse_spent(struct err *err);
int session_open_stdin(struct session *s, int *theirs, struct err *err);
void session_on_idle(uv_timer_t *timer);
void session_set_urgent(struct session *s, bool is_urgent);

/* stemming.c */
/* Largest number of processes that session_list_known() lists: guards, and interpreters that
 * drivers have started (arm_pid). */
enum { SESSION_KNOWN_MAX = CHECKPOINTS_MAX + RUNTIMES_MAX };
size_t session_list_known(const struct session *s, int32_t pids[SESSION_KNOWN_MAX]);
void session_count(struct session *s);
void session_no_stem(struct session *s, const struct err *err);
/* If the session lends its driver, take it back. A branch that is being made ends. */
void session_end_loan(struct session *s);
/* If the driver of @p has died while it was lent, put its guard in its place and tell the caller of
 * session_make_stem() that the branch has failed. Returns: false if the driver was not lent or has
 * no guard; nothing was told then. */
bool session_revive_lender(struct session_driver *p, const struct err *err);

/* drivers.c */
extern const struct driver_events session_driver_events;
/* Start the driver of @runtime, unless it is already running. Errors: as order_start(),
 * session_open_stdin(), driver_new() and driver_spawn(). */
int session_driver_start(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err);
/* Start the driver like session_driver_start(). If it is new, send SETUP to it. */
int session_driver_ensure(struct session *s, const struct runtime *runtime,
	struct session_driver **out, struct err *err);
/* Make @d, which has sent READY, the session's driver of its runtime. */
struct session_driver *session_driver_adopt(struct session *s, struct driver *d);
struct session_driver *python_driver(struct session *s);
int session_driver_setup(struct session_driver *p, enum setup what, struct err *err);
/* Have the driver make a guard, if a guard is due and was not requested yet. */
void session_driver_ask_guard(struct session_driver *p);
/*
 * Return whether the driver is certainly waiting for a frame, so that it begins a step as soon as
 * STEP arrives. False if it may have other work, if threads of the program may receive its signals,
 * or if an earlier SIGINT may still be pending.
 */
bool session_driver_is_waiting(const struct session_driver *p);
/* Report what the runtime of @p loses when its driver is replaced. The next driver continues from
 * the text p->state, which lacks some parts of the state, for example open descriptors. These
 * losses are added to the session's notice, unless the notice already reports them. */
void session_driver_tell_loss(struct session_driver *p);
void session_driver_lose(struct session_driver *p);
void session_drivers_lose(struct session *s);

/* running.c */
void step_event(struct session *s, enum step_event event);
void step_stop(struct session *s, enum step_cause cause, enum step_event event, const char *why);
void step_began(struct session *s);
void step_proceed(struct session *s);
/* Withdraw a requested step that still waits for a box, and call `unbegun`. The registry
 * rebuilds the state and then runs the step again. Returns: whether a step was withdrawn. */
bool step_give_back(struct session *s);
/*
 * step_pause() pauses the wall clock when the step begins to wait for a tool call or for its stdin.
 * step_resume() lets it continue. Pauses included, a step may take at most WALL_TIMES its limit.
 */
void step_pause(struct session *s);
void step_resume(struct session *s);
void step_interrupt_again(struct session *s);

/* If @usage does not include the memory of every process, record that the memory limit is not
 * enforced. */
void step_note_uncounted(struct session *s, const struct box_usage *usage);
void step_measured(void *arg, const struct box_usage *usage);
void step_take_output(struct session *s, int stream, const char *data, size_t bytes);

/* idle_limits.c: measure the box's usage until the next step begins, and enforce the session's
 * limits. */
void idle_limits_watch(struct session *s);
/* Move the notice that processes were killed into the record of the step that begins. */
void idle_limits_tell(struct session *s);

/* processes.c: end the processes in @box, which the session gives up; end and forget all. */
void processes_leave(struct session *s, const struct box *box, enum process_cause cause);
void processes_close(struct session *s);

/* process_list.c */
/* Note that a step begins, or that it was committed under the name @step. */
void processes_step_began(struct session *s);
void processes_step_named(struct session *s, const char *step);
/*
 * Measure the CPU time that the processes of clients have used since the step began. @done gets it,
 * in µs; if they cannot be listed, 0. It is called from the loop, and not at all if the session is
 * closed.
 */
typedef void processes_cpu_fn(struct session *s, uint64_t cpu_us);
void processes_measure(struct session *s, processes_cpu_fn *done);
/* The box has used as much CPU time as the step may use. Stop the step, unless processes of clients
 * have used a part of it. */
void processes_stop_step(struct session *s);
/*
 * For the record: find the processes that steps have left running, and take the CPU time of the
 * processes of clients off the usage of the step. Returns: false if there is nothing to be found;
 * else @done is called later.
 */
bool processes_count(struct session *s, void (*done)(struct session *s));
/* Put what was found into the record, and the processes of clients that run or have ended with the
 * box. */
void processes_tell(struct session *s);
/* Answer all who wait for a list, because the session is being closed or gives up its box. */
void processes_unlist(struct session *s);

/* networking.c */
/* If the session has network rules, and its box no network yet, begin to give it one. */
void networking_begin(struct session *s);
/* Return whether the box has the network that the session's rules ask for: 0; 1 if the caller has
 * to wait for step_proceed(); negative errno, with @err, if the box cannot get it. */
int networking_await(struct session *s, struct err *err);
/* Return whether networking_await() would return 0, without telling the error. */
bool networking_is_settled(struct session *s);
/* The session gives up its box. */
void networking_leave(struct session *s);
/* Ask for the report that goes into the record of the step, if there is a network. @done is called
 * from the loop or during the call. */
void networking_report(struct session *s, void (*done)(struct session *s));
/* Move the notice about lost connections to @out. */
void networking_tell(struct session *s, char *out, size_t bytes);
void networking_close(struct session *s);

/* transaction.c */
void transaction_settle(struct session *s);
/* Measure the box's usage for the step's record. When the usage is measured, an event follows:
 * ROLLBACK_COUNTED if a rollback is in state LEAVING, and STEP_SETTLED in all other cases. */
void transaction_read_books(struct session *s);
/* If a driver died between two steps, put its guard or a new branch in its place. Returns: false
 * if that is not possible. */
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
/*
 * Return the checkpoint of the state after @step. NULL if there is no such checkpoint, or if the
 * session cannot return to it now, for example because the process of its guard has ended.
 * @failed: the runtime that ran a failed step or whose driver died, or NULL. The driver of @failed
 * cannot stay, even if its state has not changed since the checkpoint.
 */
struct checkpoint *rollback_point(
	struct session *s, const struct session_driver *failed, const char *step);
/*
 * Return whether a rollback to the checkpoint @c must give up the session's box. That is necessary
 * if all of the following is true:
 *
 * - The Python driver cannot stay: its state has changed since @c, or Python is @failed.
 * - @c has no guard, so no process of this box has the Python state of @c.
 * - @c has a stem. A new branch of the stem has this state, and the branch is another box.
 *
 * @failed: the runtime that ran a failed step or whose driver died, or NULL.
 */
bool rollback_must_leave(
	struct session *s, const struct session_driver *failed, const struct checkpoint *c);
/* Return whether the process that an undo to @c would resume is alive. True if no process would
 * be resumed. */
bool rollback_can_resume(struct session *s, const struct checkpoint *c);
/*
 * Begin a rollback in which the session keeps its box.
 * If @to is not NULL, the session returns to the checkpoint @to. If @to is NULL, the rollback only
 * ends the driver of @failed and restores the files that were saved last.
 * @failed: the runtime that ran a failed step or whose driver died, or NULL.
 */
void rollback_stay(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to);
/*
 * Begin a rollback to the checkpoint @to in which the session gives up its box. The next box of the
 * session will be a new branch of the checkpoint's stem.
 * @failed: the runtime that ran a failed step or whose driver died, or NULL.
 */
void rollback_leave(struct session *s, enum rollback_cause cause, struct session_driver *failed,
	struct checkpoint *to);
/* Report that the box has ended and that no checkpoint can restore the state. The box may have
 * ended while the step was running, or while the session was committing it or rolling it back. */
void rollback_lose(struct session *s, const struct err *err);
/* Perform the actions for @event. @err is the reason of ROLLBACK_FAILED or ROLLBACK_EXITED, else
 * NULL. */
void rollback_event(struct session *s, enum rollback_event event, const struct err *err);
/* Tell the rollback in progress that the driver of @p has sent READY with the content @said. If
 * the rollback has resumed a guard as the driver of @p, the rollback ends. In all other cases
 * nothing happens. */
void rollback_ready(struct session_driver *p, const json_t *said);
/* Tell the rollback in progress that the process of the driver of @p has ended. If that process is
 * a guard that the rollback has resumed, the rollback fails. In all other cases nothing happens. */
void rollback_exited(struct session_driver *p);

/* save_state.c */
/* Make a checkpoint of the present state in a new box. */
void save_state_begin(struct session *s);
/* Have a rollback to the newest checkpoint stay in this box, since a process of a client runs in
 * it. */
void save_state_stay(struct session *s);
/* Make a checkpoint of the state after a committed step. */
void save_state_step(struct session *s);
/* Make a checkpoint after a client has changed a file. */
void save_state_changed(struct session *s);
/* Give the step's checkpoint the step's name, which is known now. */
void save_state_committed(struct session *s);
/* Do the work that was put off until the result was sent: evict checkpoints and have drivers
 * make guards. */
void save_state_done(struct session *s);
/* Handle the GUARD frame of @p's driver. */
void save_state_guard(struct session_driver *p, json_t *guard);
/* Return whether init can distinguish the processes that exist now from those that a step of
 * @runtime will start. If it cannot yet, step_proceed() is called as soon as it can. */
bool save_state_is_marked(struct session *s, const struct runtime *runtime);
/* Return the name of the checkpoint of the state before the step, or NULL. */
const char *save_state_checkpoint(struct session *s);

/* save_files.c: save the files between two steps. Returns: false while files are still being
 * read; restore_proceed() and step_proceed() are called afterwards. */
bool save_files_idle(struct session *s);
/* Save the files right before a step. A workspace that other programs of the host may write to
 * is listed again. */
bool save_files_before(struct session *s);
/* Note that a file of the workspace has changed. If a thread is reading the files for a
 * checkpoint at this time, the files that it has read may lack the change. So these files will
 * not be stored in the checkpoint. */
void save_files_is_behind(struct session *s);
/* Return the newest saved files, or NULL. While their contents are being read, the caller may
 * only hold them and read their list. */
struct shadow *save_files_newest(const struct session *s);
/* Return the list of the workspace's files at the end of the last step. */
const struct workspace *session_files(const struct session *s);

/* restore.c */
/* List the files in /tmp and in /dev/shm of the box, each directory in one list of @scratch. This
 * function may run on any thread. */
void restore_note(struct workspace scratch[RESTORE_SCRATCH], const struct box *box);
/*
 * Restore the workspace of @s as it is saved in @then.
 * After a failed step or a rebuild, also remove the new files in /tmp and /dev/shm, which are not
 * in the lists s->scratch. Older files in these directories are not restored if they have changed.
 * At the end @done is called. @lost is the list of paths that could not be restored, or NULL if
 * everything was restored. Owns: the callee owns @lost.
 */
void restore_files(
	struct session *s, struct shadow *then, void (*done)(struct session *s, json_t *lost));
/* Begin the restoration that restore_files() has put off, if any. It is put off while a thread
 * reads files for a checkpoint. */
void restore_proceed(struct session *s);
void restore_cancel(struct session *s);

/*
 * change.c: continue a client's change of a file.
 * If @why is NULL, send the change to init. While the session has no box, nothing happens yet.
 * If @why is not NULL, the session will get no box. Then the change fails, and @why is the reason.
 */
void change_proceed(struct session *s, const char *why);
void change_cancel(struct session *s);

/* tool_call.c */
/* Handle a TOOL frame of the step's driver. Errors: ERR_PROTOCOL. */
int tool_calls_take(struct session_driver *p, const struct frame *frame, struct err *err);

/*
 * Handle a WAITING frame, which tells that the step waits for its stdin.
 * If a client can still write to this stdin, notify the listener and pause the wall clock until
 * text is written.
 * If the step is being stopped, send SIGINT once more, because Python's input() ignores a SIGINT
 * that arrives while it writes its prompt.
 */
void tool_calls_read(struct session *s);

/* Cancel the pending tool calls of a step that is being stopped. Returns: whether the box still
 * waits for responses, which tool_calls_refuse() sends. */
bool tool_calls_stop(struct session *s);
void tool_calls_refuse(struct session *s);

/* Cancel the pending tool calls of a step that has ended. The box gets no response. */
void tool_calls_end(struct session *s);
