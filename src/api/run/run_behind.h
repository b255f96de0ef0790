/* What waits behind a run that waits for input: nobody knows when its turn comes.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct registry;
struct run;
struct runs;

/* It waits for input. */
bool run_is_reading(const struct run *run);
/* The run behind which @run waits to begin, if that run waits for input; or NULL. */
const struct run *run_reader(const struct run *run);

/* @run has begun to wait for input: tell callers that wait for runs behind it, and refuse other
 * operations that wait in the session's queue. */
void run_tell_behind(struct run *run);

/* Errors: ERR_BUSY when a run of @session waits for input, with its id and what to do. */
int runs_check_reading(
	struct runs *r, struct registry *registry, const char *session, struct err *err);
