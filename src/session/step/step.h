/* The life of one step, as a state machine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/step/record.h"

/*
 * NONE      No step is in progress.
 * ASKED     The step waits for its box, or for the end of a rollback or of saving files.
 * RUNNING   The driver has the code.
 * STOPPING  A limit was reached or the caller interrupted. SIGINT was sent, and the step has one
 *           second (the grace) to end.
 * SETTLING  The step is over. It is being committed or rolled back, and its usage measured.
 * NAMING    The record is complete. It is being written as JSON and hashed.
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
	STEP_SENT,    /* the box is ready, and the STEP frame is being sent */
	STEP_RESULT,  /* the driver sent RESULT */
	STEP_EXITED,  /* the driver process ended */
	STEP_BROKEN,  /* the driver sent an invalid frame, or the box has ended */
	STEP_LIMIT,   /* wall time or CPU time has run out, or the caller interrupts */
	STEP_MEMORY,  /* the engine measured too much memory, or too many processes */
	STEP_GRACE,   /* the step has not ended within the grace after SIGINT */
	STEP_SETTLED, /* commit or rollback is done, and the usage is measured */
	STEP_NAMED,   /* the step's name is in the record */
	STEP_EVENT_END_
};

enum step_action { STEP_IGNORE, STEP_INTERRUPT, STEP_SETTLE, STEP_NAME, STEP_FINISH };

struct step_move {
	enum step_state next;
	enum step_action action;
};

/* Return the next state and the action for @event in @state. Events that are not in the table
 * for this state are ignored. */
struct step_move step_advance(enum step_state state, enum step_event event);

/* Return whether the step is over. Results and limits that arrive then are ignored. */
bool step_is_over(enum step_state state);

/* Why a step was stopped. Only the first cause is kept. */
enum step_cause {
	STEP_CAUSE_NONE,
	STEP_CAUSE_WALL,
	/* The wall clock is paused while the step waits, for example for a tool call. The step
	 * took too long if its pauses are counted, too. */
	STEP_CAUSE_WAIT,
	STEP_CAUSE_CPU,
	STEP_CAUSE_MEMORY,
	STEP_CAUSE_PIDS,
	STEP_CAUSE_CALLER,
	STEP_CAUSE_PROTOCOL,
	STEP_CAUSE_BOX
};

/* Facts from which step_judge() derives how the step ended. */
struct step_end {
	enum step_cause cause;
	const char *why;	/* message for STEP_CAUSE_PROTOCOL and STEP_CAUSE_BOX */
	enum err_code why_code; /* error code for STEP_CAUSE_BOX, or ERR_NONE */
	bool has_result;	/* RESULT has arrived; the next three members are from it */
	bool is_error;
	bool is_exit; /* the code called exit() or the like */
	int exit_code;
	bool is_cpu_following; /* the CPU time limit was derived from the wall time limit */
	bool is_session;       /* the step is not in `once` mode, and `outcome` is set */
	enum record_outcome outcome;
	bool has_exited; /* the driver's process has ended, with `wait_status` */
	int wait_status;
};

/* Set status, exit code, signal, exit status, outcome and error of @record. Its usage and limits
 * must already be set. */
void step_judge(struct record *record, const struct step_end *end);
