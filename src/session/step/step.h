/* The life of one step, as a state machine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/step/record.h"

/*
 * NONE      No step is in progress.
 * ASKED     The step waits for its box, or for the end of a rollback or of saving files.
 * RUNNING   The driver has the code.
 * STOPPING  A limit was reached or the caller interrupted: SIGINT is sent, a second of grace runs.
 * SETTLING  The step is over: it is committed or rolled back, and its usage is measured.
 * NAMING    Its record is complete and is being written as JSON and hashed.
 */
enum step_state {
	STEP_NONE,
	STEP_ASKED,
	STEP_RUNNING,
	STEP_STOPPING,
	STEP_SETTLING,
	STEP_NAMING,
	STEP_STATE_END_
};

enum step_event {
	STEP_SENT,    /* the step's box is ready, and STEP is being sent */
	STEP_RESULT,  /* the driver sent RESULT */
	STEP_EXITED,  /* the driver process ended */
	STEP_BROKEN,  /* the driver sent an invalid frame, or the box is over */
	STEP_LIMIT,   /* wall or CPU time has run out, or the caller interrupts */
	STEP_MEMORY,  /* the engine measured too much memory, or too many processes */
	STEP_GRACE,   /* the grace after SIGINT is over */
	STEP_SETTLED, /* commit or rollback is done, and the usage is measured */
	STEP_NAMED,   /* the record has the step's name */
	STEP_EVENT_END_
};

enum step_action { STEP_IGNORE, STEP_INTERRUPT, STEP_SETTLE, STEP_NAME, STEP_FINISH };

struct step_move {
	enum step_state next;
	enum step_action action;
};

/* Return the next state and the action for @event in @state. An event without an entry for the
 * state is ignored. */
struct step_move step_advance(enum step_state state, enum step_event event);

/* Is the step over, so that results and limits that arrive now are ignored? */
bool step_is_over(enum step_state state);

/* Cause of stopping a step; the first one is kept. */
enum step_cause {
	STEP_CAUSE_NONE,
	STEP_CAUSE_WALL,
	STEP_CAUSE_WAIT, /* wall time including the pauses */
	STEP_CAUSE_CPU,
	STEP_CAUSE_MEMORY,
	STEP_CAUSE_PIDS,
	STEP_CAUSE_CALLER,
	STEP_CAUSE_PROTOCOL,
	STEP_CAUSE_BOX
};

/* Facts about the end of a step. */
struct step_end {
	enum step_cause cause;
	const char *why;	/* explains STEP_CAUSE_PROTOCOL and STEP_CAUSE_BOX */
	enum err_code why_code; /* error of STEP_CAUSE_BOX, or ERR_NONE */
	bool has_result; /* RESULT has arrived: `is_error`, `is_exit`, `exit_code` are from it */
	bool is_error;
	bool is_exit; /* the code called exit() or the like */
	int exit_code;
	bool is_cpu_following; /* the CPU time limit is derived from the wall time limit */
	bool is_session;       /* not `once` mode: `outcome` is set */
	enum record_outcome outcome;
	bool has_exited; /* the driver's process has ended with `wait_status` */
	int wait_status;
};

/*
 * Set status, exit code, signal, exit status, outcome and error of a record. Its usage and limits
 * must be set.
 */
void step_judge(struct record *record, const struct step_end *end);
