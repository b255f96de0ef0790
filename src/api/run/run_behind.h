/* Runs and operations that cannot begin because an earlier run of their session waits for input,
 * which a client may never send. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct registry;
struct run;
struct runs;

/* Return whether the run waits for input. */
bool run_is_reading(const struct run *run);
/* Return the run that waits for input and so keeps @run, a later run of the same session, from
 * starting. Returns: NULL if @run does not wait for such a run. */
const struct run *run_reader(const struct run *run);

/* Called when @run has begun to wait for input. Notify the callers of the runs that wait behind
 * @run, and refuse the other operations that wait in the queue of the session. */
void run_tell_behind(struct run *run);

/* Check that no run of @session waits for input. Errors: ERR_BUSY: a run waits for input; the
 * message names the run. */
int runs_check_reading(
	struct runs *r, struct registry *registry, const char *session, struct err *err);
