/*
 * The state machine of rollbacks, as a table. There are two kinds of rollbacks.
 *
 * In the first kind, the session keeps its box. Init ends every process that is newer than the
 * checkpoint (ENDING). Then the files of the workspace are restored (FILES). Then the checkpoint's
 * frozen process becomes the driver (RESUMING). If no frozen process has to become the driver, the
 * rollback ends when the files are restored.
 *
 *   IDLE --STAY--> ENDING --ENDED--> FILES --FROZEN--> RESUMING --READY--> IDLE
 *                                      `---RESTORED-----------------------> IDLE
 *
 * In the second kind, the session gives up its box, because only the checkpoint's stem has the
 * Python state to return to. The next box will be a new branch of the stem. Directories of the host
 * outlive the box. So if there are such directories, their files are restored first (HOST_ENDING,
 * HOST_FILES).
 *
 *   IDLE --LEAVE_HOST--> HOST_ENDING --ENDED--> HOST_FILES --RESTORED--> LEAVING --COUNTED--> IDLE
 *   IDLE --LEAVE-------------------------------------------------------> LEAVING
 *
 * The cause decides how the rollback ends. A failed step has a record, which needs the usage of the
 * box. If the session gives up the box, the usage is measured in LEAVING. If the session keeps the
 * box, it is measured at the end. An undo and a revival have no record, so they skip LEAVING.
 *
 * If a rollback of the first kind fails, the session's state is lost. If a rollback of the second
 * kind fails, only files of the host may be wrong, and these are listed as lost.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/step/rollback.h"

#include "base/attr.h"

#include <stddef.h>

enum {
	STEP = 1 << ROLLBACK_STEP,
	UNDO = 1 << ROLLBACK_UNDO,
	REVIVE = 1 << ROLLBACK_REVIVE,
	ANY = STEP | UNDO | REVIVE,
};

#define DO(...)                                                                                    \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* clang-format off */
static const struct row {
	unsigned causes;
	enum rollback_state state;
	enum rollback_event event;
	struct rollback_move move;
} rows[] = {
	{ANY, ROLLBACK_IDLE, ROLLBACK_STAY,
		{ROLLBACK_ENDING, DO(ROLLBACK_END_PROCESSES)}},
	{STEP | UNDO, ROLLBACK_IDLE, ROLLBACK_LEAVE_HOST,
		{ROLLBACK_HOST_ENDING, DO(ROLLBACK_END_PROCESSES)}},
	{STEP, ROLLBACK_IDLE, ROLLBACK_LEAVE,
		{ROLLBACK_LEAVING, DO(ROLLBACK_NAME_FILES, ROLLBACK_READ_BOOKS)}},
	{UNDO, ROLLBACK_IDLE, ROLLBACK_LEAVE,
		{ROLLBACK_IDLE, DO(ROLLBACK_NAME_FILES, ROLLBACK_CHANGE_BOX, ROLLBACK_TELL)}},
	{REVIVE, ROLLBACK_IDLE, ROLLBACK_LEAVE,
		{ROLLBACK_IDLE, DO(ROLLBACK_CHANGE_BOX, ROLLBACK_TELL)}},
	{STEP, ROLLBACK_IDLE, ROLLBACK_FAILED,
		{ROLLBACK_IDLE, DO(ROLLBACK_LOSE, ROLLBACK_TELL_LOST)}},
	/* This is init's late reply to a rollback that has already failed. */
	{ANY, ROLLBACK_IDLE, ROLLBACK_ENDED,
		{ROLLBACK_IDLE, DO(ROLLBACK_NOTHING)}},

	{ANY, ROLLBACK_ENDING, ROLLBACK_CLEAR,
		{ROLLBACK_FILES, DO(ROLLBACK_PUT_FILES)}},
	{ANY, ROLLBACK_ENDING, ROLLBACK_ENDED,
		{ROLLBACK_FILES, DO(ROLLBACK_DROP_DRIVERS, ROLLBACK_PUT_FILES)}},
	{ANY, ROLLBACK_ENDING, ROLLBACK_READY,
		{ROLLBACK_ENDING, DO(ROLLBACK_NOTHING)}}, /* a driver sent READY before init ended it */
	{ANY, ROLLBACK_ENDING, ROLLBACK_EXITED,
		{ROLLBACK_ENDING, DO(ROLLBACK_NOTHING)}}, /* init has ended the driver */
	{ANY, ROLLBACK_ENDING, ROLLBACK_FAILED,
		{ROLLBACK_IDLE, DO(ROLLBACK_LOSE, ROLLBACK_TELL_LOST)}},

	{STEP, ROLLBACK_FILES, ROLLBACK_RESTORED,
		{ROLLBACK_IDLE, DO(ROLLBACK_PUT_STATES, ROLLBACK_TELL_UNKEPT, ROLLBACK_FINISH, ROLLBACK_READ_BOOKS)}},
	{UNDO | REVIVE, ROLLBACK_FILES, ROLLBACK_RESTORED,
		{ROLLBACK_IDLE, DO(ROLLBACK_PUT_STATES, ROLLBACK_TELL_UNKEPT, ROLLBACK_FINISH, ROLLBACK_TELL)}},
	{ANY, ROLLBACK_FILES, ROLLBACK_FROZEN,
		{ROLLBACK_RESUMING, DO(ROLLBACK_PUT_STATES, ROLLBACK_RESUME)}},
	{ANY, ROLLBACK_FILES, ROLLBACK_READY,
		{ROLLBACK_FILES, DO(ROLLBACK_NOTHING)}},
	{ANY, ROLLBACK_FILES, ROLLBACK_EXITED,
		{ROLLBACK_FILES, DO(ROLLBACK_NOTHING)}},
	{ANY, ROLLBACK_FILES, ROLLBACK_FAILED,
		{ROLLBACK_IDLE, DO(ROLLBACK_LOSE, ROLLBACK_TELL_LOST)}},

	{STEP, ROLLBACK_RESUMING, ROLLBACK_READY,
		{ROLLBACK_IDLE, DO(ROLLBACK_FINISH, ROLLBACK_READ_BOOKS)}},
	{UNDO | REVIVE, ROLLBACK_RESUMING, ROLLBACK_READY,
		{ROLLBACK_IDLE, DO(ROLLBACK_FINISH, ROLLBACK_TELL)}},
	{ANY, ROLLBACK_RESUMING, ROLLBACK_EXITED,
		{ROLLBACK_IDLE, DO(ROLLBACK_LOSE, ROLLBACK_TELL_LOST)}},
	{ANY, ROLLBACK_RESUMING, ROLLBACK_FAILED,
		{ROLLBACK_IDLE, DO(ROLLBACK_LOSE, ROLLBACK_TELL_LOST)}},

	{STEP | UNDO, ROLLBACK_HOST_ENDING, ROLLBACK_CLEAR,
		{ROLLBACK_HOST_FILES, DO(ROLLBACK_PUT_FILES)}},
	{STEP | UNDO, ROLLBACK_HOST_ENDING, ROLLBACK_ENDED,
		{ROLLBACK_HOST_FILES, DO(ROLLBACK_DROP_DRIVERS, ROLLBACK_PUT_FILES)}},
	{STEP | UNDO, ROLLBACK_HOST_ENDING, ROLLBACK_FAILED,
		{ROLLBACK_IDLE, DO(ROLLBACK_CANCEL_FILES, ROLLBACK_NAME_FILES, ROLLBACK_CHANGE_BOX, ROLLBACK_TELL)}},

	{STEP, ROLLBACK_HOST_FILES, ROLLBACK_RESTORED,
		{ROLLBACK_LEAVING, DO(ROLLBACK_READ_BOOKS)}},
	{UNDO, ROLLBACK_HOST_FILES, ROLLBACK_RESTORED,
		{ROLLBACK_IDLE, DO(ROLLBACK_CHANGE_BOX, ROLLBACK_TELL)}},
	{STEP | UNDO, ROLLBACK_HOST_FILES, ROLLBACK_FAILED,
		{ROLLBACK_IDLE, DO(ROLLBACK_CANCEL_FILES, ROLLBACK_NAME_FILES, ROLLBACK_CHANGE_BOX, ROLLBACK_TELL)}},

	{STEP, ROLLBACK_LEAVING, ROLLBACK_COUNTED,
		{ROLLBACK_IDLE, DO(ROLLBACK_CHANGE_BOX, ROLLBACK_TELL)}},
	/* If the box ends while its usage is being measured, nothing has to be done: the session
	 * gives up the box anyway when the measurement ends (COUNTED). */
	{STEP, ROLLBACK_LEAVING, ROLLBACK_FAILED,
		{ROLLBACK_LEAVING, DO(ROLLBACK_NOTHING)}},
};
/* clang-format on */

bool rollback_advance(enum rollback_cause cause, enum rollback_state state,
	enum rollback_event event, struct rollback_move *move)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].state == state && rows[i].event == event &&
			(rows[i].causes & (1u << cause))) {
			*move = rows[i].move;
			return true;
		}
	return false;
}
