/* Help texts of session operations that the command line uses too. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "session/step/step_order.h"

#define TEXT_CREATE	 "Make a session"
#define TEXT_PRUNE	 "Forget closed sessions: their steps and files leave the journal"
#define HELP_PRUNE_OLDER "those that were closed so long ago, or before"
#define HELP_PRUNE_KEEP	 "but for the N that were closed last"
#define HELP_PRUNE_DRY	 "only count them"
#define TEXT_LIST	 "List the sessions"
#define TEXT_BRANCH	 "Make a session that goes on from where another is"
#define TEXT_UNDO	 "Go back to an earlier step"
#define TEXT_LOG	 "List the steps of a session, newest first"
#define TEXT_EXPORT	 "Write down a session's steps, to replay them"
#define TEXT_RUN	 "Run code in a session"

#define HELP_UNDO_TO "step to go back to: its id, or a unique start of it"
#define HELP_LOG_ALL "also what was rolled back or undone, each attempt"
#define HELP_RUNS_AGAIN                                                                            \
	"languages whose variables will be made again, by running their steps before the next one"
#define HELP_FORCE	   "end processes of the session's own, which cannot come along"
#define HELP_LANGUAGE	   "language; else the session's"
#define HELP_FILE_LANGUAGE "language; else by the file's ending, #! line, or the session's"
#define HELP_TIMEOUT	   "wall time of this step; else the session's limit"
#define HELP_ATOMIC	   STEP_HELP_ATOMIC
