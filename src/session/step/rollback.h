/* The state machine of rollbacks. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Why a rollback was begun. The cause stays the same until the rollback ends. */
enum rollback_cause {
	ROLLBACK_STEP,	 /* a step failed, and its record waits for the rollback */
	ROLLBACK_UNDO,	 /* session_undo() was called, and its caller waits */
	ROLLBACK_REVIVE, /* a driver died between two steps, and a requested step waits */
	ROLLBACK_CAUSE_END_
};

/*
 * IDLE         No rollback is in progress.
 * ENDING       Init is ending the processes that are newer than the checkpoint.
 * FILES        The files are being restored.
 * RESUMING     The checkpoint's frozen process was told to continue.
 * HOST_ENDING  Like ENDING, in a box that will be given up.
 * HOST_FILES   Files in directories of the host are being restored. All other files will be lost
 *              with the box.
 * LEAVING      The usage of the box that will be given up is being measured.
 */
enum rollback_state {
	ROLLBACK_IDLE,
	ROLLBACK_ENDING,
	ROLLBACK_FILES,
	ROLLBACK_RESUMING,
	ROLLBACK_HOST_ENDING,
	ROLLBACK_HOST_FILES,
	ROLLBACK_LEAVING,
	ROLLBACK_STATE_END_
};

enum rollback_event {
	ROLLBACK_STAY, /* begin a rollback that keeps the box */
	/* Begin a rollback that gives up the box. The next box will be a new branch of a stem. */
	ROLLBACK_LEAVE,
	/* Begin a rollback that gives up the box, but before that, restore files in directories
	 * of the host. */
	ROLLBACK_LEAVE_HOST,
	ROLLBACK_CLEAR, /* no process has to be ended */
	/* Init has ended the processes that had to end: the chosen drivers, and the processes
	 * that are newer than the checkpoint. */
	ROLLBACK_ENDED,
	ROLLBACK_RESTORED, /* the files are restored, and no frozen process is to be resumed */
	ROLLBACK_FROZEN,   /* the files are restored, and the frozen process is to be resumed */
	ROLLBACK_READY,	   /* a driver has sent READY */
	ROLLBACK_EXITED,   /* the process of a driver has ended */
	ROLLBACK_COUNTED,  /* the usage of the box is measured */
	ROLLBACK_FAILED,   /* an action failed or took too long, or the box has ended */
	ROLLBACK_EVENT_END_
};

/* Actions of rolling_back.c. A row of the table lists its actions in the order in which they are
 * performed. */
enum rollback_action {
	ROLLBACK_NOTHING,
	ROLLBACK_END_PROCESSES, /* choose the processes to end, and have init end them */
	ROLLBACK_DROP_DRIVERS,	/* drop the drivers that init has ended */
	ROLLBACK_PUT_FILES,	/* restore files */
	ROLLBACK_CANCEL_FILES,	/* stop restoring files */
	/* Files in directories of the host are not restored. Add those that may have changed to
	 * the list of lost files. */
	ROLLBACK_NAME_FILES,
	ROLLBACK_PUT_STATES,  /* restore the runtimes' text states, and drop later checkpoints */
	ROLLBACK_TELL_UNKEPT, /* add to the notice how many unsaved files are missing */
	ROLLBACK_RESUME,      /* resume the frozen process */
	ROLLBACK_FINISH,      /* end the rollback: the session has the checkpoint's state */
	/* Give up the box. The next box will be a new branch of the checkpoint's stem. */
	ROLLBACK_CHANGE_BOX,
	/* Measure the box's usage. When the usage is measured, an event follows:
	 * ROLLBACK_COUNTED if the state of the rollback is LEAVING, and the step's event
	 * STEP_SETTLED in any other state. */
	ROLLBACK_READ_BOOKS,
	ROLLBACK_LOSE,	   /* give up the box, and with it the state */
	ROLLBACK_TELL,	   /* report success to the step or the caller that waits */
	ROLLBACK_TELL_LOST /* report to the step or the caller that the state is lost */
};

enum { ROLLBACK_ACTIONS_MAX = 4 };

struct rollback_move {
	enum rollback_state next;
	/* The list ends before the first ROLLBACK_NOTHING. */
	enum rollback_action actions[ROLLBACK_ACTIONS_MAX];
};

/* Find the next state and the actions for @event in @state of a rollback with @cause. Returns:
 * false if the event is not expected in this state; @move is unchanged then. */
bool rollback_advance(enum rollback_cause cause, enum rollback_state state,
	enum rollback_event event, struct rollback_move *move);
