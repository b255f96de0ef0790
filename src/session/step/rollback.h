/* How a session gets back to an earlier state, as a table. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Who asked for it; it stays the same from the first event to IDLE. */
enum rollback_cause {
	ROLLBACK_STEP,	 /* a step failed: its record waits */
	ROLLBACK_UNDO,	 /* the caller of session_undo() waits */
	ROLLBACK_REVIVE, /* a driver died between two steps: the next step waits, if there is one */
	ROLLBACK_CAUSE_END_
};

/*
 * IDLE         there is no rollback
 * ENDING       init ends the processes that are newer than the checkpoint
 * FILES        the files are being put back
 * RESUMING     the checkpoint's frozen process was told to go on
 * HOST_ENDING  as ENDING, in a box that will be given up
 * HOST_FILES   the files in directories of the host are being put back; all others go with the box
 * LEAVING      the books of the box that will be given up are being read
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
	ROLLBACK_STAY,	     /* it begins, in the box that there is */
	ROLLBACK_LEAVE,	     /* it begins: the session gets another box, a branch of its stem */
	ROLLBACK_LEAVE_HOST, /* the same, and directories of the host are to be put back first */
	ROLLBACK_CLEAR,	     /* there is no process to end */
	ROLLBACK_ENDED,	     /* init has ended the processes */
	ROLLBACK_RESTORED,   /* the files are back, and no process is to be resumed */
	ROLLBACK_FROZEN,     /* the files are back, and the frozen process is next */
	ROLLBACK_READY,	     /* the driver says that it is ready */
	ROLLBACK_EXITED,     /* the process of the driver that is being replaced has ended */
	ROLLBACK_COUNTED,    /* the books have been read */
	ROLLBACK_FAILED,     /* the box, init or a process did not do what it was asked for */
	ROLLBACK_EVENT_END_
};

/* What the session does then, in the order of the row. */
enum rollback_action {
	ROLLBACK_NOTHING,
	ROLLBACK_END_PROCESSES, /* choose them, and ask init */
	ROLLBACK_DROP_DRIVERS,	/* those that init has ended */
	ROLLBACK_PUT_FILES,	/* back */
	ROLLBACK_CANCEL_FILES,	/* stop putting them back */
	ROLLBACK_NAME_FILES,	/* list what of the host's directories is not back */
	ROLLBACK_PUT_STATES,	/* states of the other runtimes, and the list of checkpoints */
	ROLLBACK_TELL_UNKEPT,	/* how many files were not kept */
	ROLLBACK_RESUME,	/* the frozen process */
	ROLLBACK_FINISH,	/* the state is the checkpoint's */
	ROLLBACK_CHANGE_BOX,	/* give up the box, for a branch of the checkpoint's stem */
	ROLLBACK_READ_BOOKS,	/* ask for what the box has used; the step ends with the answer */
	ROLLBACK_LOSE,		/* give up the box and the state */
	ROLLBACK_TELL,		/* whoever waits */
	ROLLBACK_TELL_LOST	/* the same: the state is lost */
};

enum { ROLLBACK_ACTIONS_MAX = 4 };

struct rollback_move {
	enum rollback_state next;
	enum rollback_action actions[ROLLBACK_ACTIONS_MAX]; /* up to the first NOTHING */
};

/*
 * What to do on @event in @state, when the rollback has @cause. Returns: false, and @move is as it
 * was, when that has no row: whoever sent the event does not keep to the order.
 */
bool rollback_advance(enum rollback_cause cause, enum rollback_state state,
	enum rollback_event event, struct rollback_move *move);
