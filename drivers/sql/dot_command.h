/* Commands that begin with a dot, as the sqlite3 shell has them. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include "step.h"

/* Run the command in @line, which stands at @at in the code. Returns: 0, -1 with the step's error.
 */
int dot_command_run(struct step *s, const char *line, const char *at);
