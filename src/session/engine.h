/* What all sessions of a process share: the warden, and where retort's parts are.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/install.h"

#include <uv.h>

struct engine {
	struct install install;
	struct warden *warden; /* NULL before engine_start() and after engine_stop() */
};

/*
 * Find the parts, start the warden, give up every right that is not needed. The warden gets itself
 * ready meanwhile; engine_attach() joins it to the loop. Errors: ERR_BOX; engine_stop() is then to
 * be called as well.
 */
int engine_start(struct engine *e, struct err *err);
int engine_attach(struct engine *e, uv_loop_t *loop, struct err *err);

/* Stop the warden, which destroys what boxes there are. Blocks: some milliseconds. May be called
 * twice. */
void engine_stop(struct engine *e);
