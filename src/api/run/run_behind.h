/* Runs and operations behind a run that waits for input, possibly for ever.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct registry;
struct run;
struct runs;

/* Does the run wait for input? */
bool run_is_reading(const struct run *run);
/* Return the run behind which @run waits to begin, if that run waits for input; or NULL. */
const struct run *run_reader(const struct run *run);

/* Handle that @run has begun to wait for input: notify callers of runs behind it, and refuse other
 * operations that wait in the session's queue. */
void run_tell_behind(struct run *run);

/* Check that no run of @session waits for input. Errors: ERR_BUSY, with the run's id and a hint. */
int runs_check_reading(
	struct runs *r, struct registry *registry, const char *session, struct err *err);
