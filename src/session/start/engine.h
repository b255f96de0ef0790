/* The engine: what all sessions of a process share, such as loop, warden and paths of installed
 * files. SPDX-License-Identifier: Apache-2.0 */
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
	uv_loop_t *loop;       /* NULL before engine_attach() */
	char *chunk;	       /* buffer of ENGINE_CHUNK_BYTES, into which output is read */
	unsigned n_urgent;     /* steps that run and branches being made: somebody waits for them */
	unsigned n_branching;  /* branches that the warden is making */
	struct stem *waiting;  /* stems that wait for a free place among those branches */
	size_t n_alive;	       /* references of engine_hold(): sessions, boxes, drivers, stems */
	void (*emptied)(struct engine *e); /* NULL, or called at n_alive 0 from the loop */
	void *arg;			   /* argument for `emptied` */
};

/*
 * Find the installed files, start the warden, and give up all unneeded capabilities. The warden
 * prepares meanwhile; engine_attach() connects it to the loop. Errors: ERR_BOX; call engine_stop()
 * then as well.
 */
int engine_start(struct engine *e, struct err *err);
int engine_attach(struct engine *e, uv_loop_t *loop, struct err *err);

/* End all boxes and the warden at once. Callers that wait for a box get an error from the loop.
 * engine_stop() must still be called. */
void engine_end_boxes(struct engine *e);

/* Stop the warden, which destroys all boxes. Blocks: some milliseconds. May be called twice. */
void engine_stop(struct engine *e);

/* Has the warden ended by itself? If so, all boxes are over and no new one can be made. */
bool engine_is_over(const struct engine *e);

/* Count an object that must be freed before the loop can end; engine_release() ends that. */
void engine_hold(struct engine *e);
void engine_release(struct engine *e);
