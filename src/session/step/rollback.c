/*
 * The state machine of rollbacks, as a table.
 *
 * A rollback takes one of two ways. If the session can keep its box, init ends every process that
 * is newer than the checkpoint (ENDING), the files of the workspace are restored (FILES), and the
 * checkpoint's frozen process becomes the driver (RESUMING). If the checkpoint has no such process,
 * because the runtime has no state in memory, the rollback ends with the files.
 *
 *   IDLE --STAY--> ENDING --ENDED--> FILES --FROZEN--> RESUMING --READY--> IDLE
 *                                      `---RESTORED-----------------------> IDLE
 *
 * If the checkpoint is a stem, the session gives up its box (LEAVING), because another branch of
 * the stem has the state. But directories of the host outlive the box, so their files are restored
 * first (HOST_ENDING, HOST_FILES).
 *
 *   IDLE --LEAVE_HOST--> HOST_ENDING --ENDED--> HOST_FILES --RESTORED--> LEAVING --COUNTED--> IDLE
 *   IDLE --LEAVE-------------------------------------------------------> LEAVING
 *
 * The cause decides how the rollback ends. A failed step has a record, for which the usage of the
 * box is measured. An undo and a revival have no record, so they skip LEAVING.
 *
 * If a rollback fails in a box that the session keeps, the session's state is lost. In a box that
 * is to be given up, a failure affects files of the host only, and these are listed as lost.
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
	{ANY, ROLLBACK_IDLE, ROLLBACK_ENDED,
		{ROLLBACK_IDLE, DO(ROLLBACK_NOTHING)}}, /* late event of a failed rollback */

	{ANY, ROLLBACK_ENDING, ROLLBACK_CLEAR,
		{ROLLBACK_FILES, DO(ROLLBACK_PUT_FILES)}},
	{ANY, ROLLBACK_ENDING, ROLLBACK_ENDED,
		{ROLLBACK_FILES, DO(ROLLBACK_DROP_DRIVERS, ROLLBACK_PUT_FILES)}},
	{ANY, ROLLBACK_ENDING, ROLLBACK_READY,
		{ROLLBACK_ENDING, DO(ROLLBACK_NOTHING)}}, /* READY of the old driver */
	{ANY, ROLLBACK_ENDING, ROLLBACK_EXITED,
		{ROLLBACK_ENDING, DO(ROLLBACK_NOTHING)}}, /* init has killed the driver */
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
	{STEP, ROLLBACK_LEAVING, ROLLBACK_FAILED,
		{ROLLBACK_LEAVING, DO(ROLLBACK_NOTHING)}}, /* the box is given up in any case */
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
