/* Help texts of session operations. The command line uses them too. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "session/step/step_order.h"

#define TEXT_CREATE	  "Make a session"
#define TEXT_PRUNE	  "Forget closed sessions: delete their steps and files from the journal"
#define HELP_PRUNE_OLDER  "sessions that were closed at least this long ago"
#define HELP_PRUNE_KEEP	  "keep the N sessions that were closed last"
#define HELP_PRUNE_DRY	  "only count the sessions, and delete nothing"
#define TEXT_LIST	  "List the sessions"
#define TEXT_BRANCH	  "Make a copy of a session, which continues on its own"
#define TEXT_UNDO	  "Go back to an earlier step"
#define HELP_WITH_SECRETS "give the branch the secrets of the session, too"
#define TEXT_NET	  "Tell or change what programs of a session may connect to"
#define TEXT_LOG	  "List the steps of a session, newest first"
#define TEXT_EXPORT	  "Export a session's steps as a record, for `retort replay`"
#define TEXT_RUN	  "Run code in a session"

#define HELP_UNDO_TO "the step to go back to: its id, or the unique beginning of its id"
#define HELP_LOG_ALL "also list every attempt that was rolled back or undone"
#define HELP_RUNS_AGAIN                                                                            \
	"languages whose steps will run again before the next step, to restore their variables"
#define HELP_FORCE "end processes that the session started: a branch cannot copy them"
#define HELP_KEEP_PROCESSES                                                                        \
	"let processes that the session started go on: the branch lacks them, and the session's "  \
	"programs have power over the branch"
#define HELP_LANGUAGE "language (default: the session's)"
#define HELP_FILE_LANGUAGE                                                                         \
	"language (by default from the file ending or #! line, else the session's)"
#define HELP_TIMEOUT "wall time of this step (default: the session's limit)"
#define HELP_ATOMIC  STEP_HELP_ATOMIC
