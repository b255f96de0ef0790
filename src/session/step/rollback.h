/* The state machine of rollbacks. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Cause of a rollback, constant from its first event to IDLE. */
enum rollback_cause {
	ROLLBACK_STEP,	 /* a step failed; its record waits for the rollback */
	ROLLBACK_UNDO,	 /* the caller of session_undo() waits */
	ROLLBACK_REVIVE, /* a driver died between two steps; a requested step waits */
	ROLLBACK_CAUSE_END_
};

/*
 * IDLE         No rollback is in progress.
 * ENDING       Init ends the processes that are newer than the checkpoint.
 * FILES        The files are being restored.
 * RESUMING     The checkpoint's frozen process was told to continue.
 * HOST_ENDING  Like ENDING, in a box that will be given up.
 * HOST_FILES   Files in directories of the host are being restored; all others are lost with the
 *              box.
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
	ROLLBACK_STAY,	     /* begin, and keep the box */
	ROLLBACK_LEAVE,	     /* begin, and change to a new branch of the checkpoint's stem */
	ROLLBACK_LEAVE_HOST, /* begin like LEAVE, after restoring the host's directories */
	ROLLBACK_CLEAR,	     /* no process has to be ended */
	ROLLBACK_ENDED,	     /* init has ended the processes */
	ROLLBACK_RESTORED,   /* the files are restored, and no process is to be resumed */
	ROLLBACK_FROZEN,     /* the files are restored; resume the frozen process next */
	ROLLBACK_READY,	     /* a driver has sent READY */
	ROLLBACK_EXITED,     /* the process of the replaced driver has ended */
	ROLLBACK_COUNTED,    /* the usage of the box is measured */
	ROLLBACK_FAILED,     /* the box, init or a process did not do its part */
	ROLLBACK_EVENT_END_
};

/* Actions of the session, in the order of a row. */
enum rollback_action {
	ROLLBACK_NOTHING,
	ROLLBACK_END_PROCESSES, /* choose the processes and have init end them */
	ROLLBACK_DROP_DRIVERS,	/* drop the drivers that init has ended */
	ROLLBACK_PUT_FILES,	/* restore files */
	ROLLBACK_CANCEL_FILES,	/* stop restoring files */
	ROLLBACK_NAME_FILES,	/* list files in the host's directories that are not restored */
	ROLLBACK_PUT_STATES,	/* restore the runtimes' text states; drop later checkpoints */
	ROLLBACK_TELL_UNKEPT,	/* add to the notice how many files were not saved */
	ROLLBACK_RESUME,	/* resume the frozen process */
	ROLLBACK_FINISH,	/* end the rollback: the state is that of the checkpoint */
	ROLLBACK_CHANGE_BOX,	/* give up the box for a branch of the checkpoint's stem */
	ROLLBACK_READ_BOOKS, /* measure the box's usage; COUNTED or the end of the step follows */
	ROLLBACK_LOSE,	     /* give up the box and the state */
	ROLLBACK_TELL,	     /* report success to the caller or step that waits */
	ROLLBACK_TELL_LOST   /* report to it that the state is lost */
};

enum { ROLLBACK_ACTIONS_MAX = 4 };

struct rollback_move {
	enum rollback_state next;
	enum rollback_action actions[ROLLBACK_ACTIONS_MAX]; /* the first NOTHING ends the list */
};

/*
 * Find the actions for @event in @state of a rollback with @cause. Returns: false, with @move
 * unchanged, if the table has no such row, because the event is out of order.
 */
bool rollback_advance(enum rollback_cause cause, enum rollback_state state,
	enum rollback_event event, struct rollback_move *move);
