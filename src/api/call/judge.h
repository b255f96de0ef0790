/* Scoring of a program with test cases. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/calls.h"

/*
 * Compile the program that the parameters of @call describe (program.judge) once, run each test
 * case in a branch of its own, and compare what the program has printed. Uses program.build,
 * program.run and session.close as calls of the same caller. Answers @call when these sessions are
 * closed.
 */
void judge_start(struct operation_call *call);

/* The most bytes of output in a result, of all cases together; the rest is cut. */
enum { JUDGE_OUTPUT_BYTES = 32 << 20 };
