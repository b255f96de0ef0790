/* The life of one step, as a table. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/step/record.h"

/*
 * NONE      there is no step
 * ASKED     the step waits for its box, or for a rollback or a copy of files to end
 * RUNNING   the driver has the code
 * STOPPING  a limit was reached or the caller asked: SIGINT is out, a second of grace runs
 * SETTLING  the step is over; its box is being ended and its last output read
 * NAMING    all is known of it; its record is written down and hashed
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
	STEP_SENT,    /* what it waited for is there */
	STEP_RESULT,  /* the driver sent RESULT */
	STEP_EXITED,  /* the driver process ended */
	STEP_BROKEN,  /* the driver sent an invalid frame, or the box is gone */
	STEP_LIMIT,   /* wall or CPU time is up, or the caller interrupts */
	STEP_MEMORY,  /* the engine measured more memory, or counted more processes, than allowed */
	STEP_GRACE,   /* the grace is over */
	STEP_SETTLED, /* commit or rollback is done, and usage has been read */
	STEP_NAMED,   /* the record has its name */
	STEP_EVENT_END_
};

enum step_action { STEP_IGNORE, STEP_INTERRUPT, STEP_SETTLE, STEP_NAME, STEP_FINISH };

struct step_move {
	enum step_state next;
	enum step_action action;
};

/* What to do on @event in @state. Never fails: an event that makes no sense in a state is ignored.
 */
struct step_move step_advance(enum step_state state, enum step_event event);

/* Does nothing that arrives now belong to the step any more? */
bool step_is_over(enum step_state state);

/* Why a step was stopped; the first cause counts. */
enum step_cause {
	STEP_CAUSE_NONE,
	STEP_CAUSE_WALL,
	STEP_CAUSE_WAIT, /* wall time, including the time that it waited for answers */
	STEP_CAUSE_CPU,
	STEP_CAUSE_MEMORY,
	STEP_CAUSE_PIDS,
	STEP_CAUSE_CALLER,
	STEP_CAUSE_PROTOCOL,
	STEP_CAUSE_BOX
};

/* What is known of how a step ended. */
struct step_end {
	enum step_cause cause;
	const char *why;	/* the story of STEP_CAUSE_PROTOCOL and STEP_CAUSE_BOX */
	enum err_code why_code; /* of STEP_CAUSE_BOX, or ERR_NONE */
	bool has_result; /* the driver sent RESULT: then `is_error` and `exit_code` are from it */
	bool is_error;
	bool is_exit; /* the code called exit() or the like */
	int exit_code;
	bool is_cpu_following; /* the limit on CPU time follows that on wall time */
	bool is_session;       /* then `outcome` says what became of its state */
	enum record_outcome outcome;
	bool has_exited; /* the driver process ended with `wait_status` */
	int wait_status;
};

/*
 * Decide status, exit code, signal, exit status, outcome and the error of a record, whose usage and
 * limits are filled in already.
 */
void step_judge(struct record *record, const struct step_end *end);
