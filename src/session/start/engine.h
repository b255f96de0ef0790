/* What all sessions of a process share: the loop, the warden, the paths of installed files.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/install.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum { ENGINE_CHUNK_BYTES = 256 << 10 };

struct stem;

struct engine {
	struct install install;
	struct warden *warden; /* NULL before engine_start() and after engine_stop() */
	uv_loop_t *loop;       /* set by engine_attach() */
	char *chunk;	       /* of ENGINE_CHUNK_BYTES: output is read into it */
	unsigned n_urgent; /* steps that run and branches in the making: somebody waits for them */
	unsigned n_branching; /* branches that the warden is making */
	struct stem *waiting; /* stems that wait, since the warden makes only so many at once */
	size_t n_alive;	      /* boxes and drivers that are not freed yet */
	void (*emptied)(struct engine *e); /* or NULL: n_alive became 0, from the loop */
	void *arg;			   /* for `emptied` */
};

/*
 * Find the installed files, start the warden, and give up every capability that is not needed. The
 * warden prepares meanwhile; engine_attach() connects it to the loop. Errors: ERR_BOX; call
 * engine_stop() then as well.
 */
int engine_start(struct engine *e, struct err *err);
int engine_attach(struct engine *e, uv_loop_t *loop, struct err *err);

/* End all boxes and the warden at once; those who wait for a box hear of it from the loop.
 * engine_stop() must still be called. */
void engine_end_boxes(struct engine *e);

/* Stop the warden, which destroys all boxes. Blocks: some milliseconds. May be called twice. */
void engine_stop(struct engine *e);

/* Has the warden ended by itself? Then there is no box left, and none can be made. */
bool engine_is_over(const struct engine *e);

/* One more, or one less, object that must be freed before the loop can end. */
void engine_hold(struct engine *e);
void engine_release(struct engine *e);
