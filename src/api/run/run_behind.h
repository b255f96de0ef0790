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
/* The run behind which @run waits to begin, when that is reading; or NULL. */
const struct run *run_reader(const struct run *run);

/* It has begun to wait: whoever waits for a run behind it is told, and what is no run is refused.
 */
void run_tell_behind(struct run *run);

/*
 * Is there a run of @session that is reading? Returns: 0. Errors: ERR_BUSY, with its id and what to
 * do.
 */
int runs_check_reading(
	struct runs *r, struct registry *registry, const char *session, struct err *err);
