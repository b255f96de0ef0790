/* A whole program that runs in a box of its own. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/calls.h"

/*
 * Run the program that the parameters of @call describe (program.run), as a sequence of other
 * operations: session.create, file.write, step.run, file.read, session.close. They are started as
 * calls of the same caller, so that its rights and quotas hold. Answers @call when the session is
 * closed.
 */
void program_start(struct operation_call *call);

/* How many bytes the files in a result may have together. */
enum { PROGRAM_FILES_BYTES = 32 << 20 };
