/*
 * Dot commands, such as .tables in the sqlite3 shell.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "step.h"

/*
 * Run the command in @line. @at is its position in the step's code. Returns: 0, or -1 with the
 * step's error.
 */
int dot_command_run(struct step *s, const char *line, const char *at);
