/* What all sessions of a process share: the loop, the warden, and where retort's parts are.
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
	uv_loop_t *loop;       /* from engine_attach() on */
	char *chunk;	       /* ENGINE_CHUNK_BYTES: where output is read to before it is kept */
	unsigned n_urgent;     /* steps that run, branches in the making: somebody waits for them */
	unsigned n_branching;  /* branches that the warden is making */
	struct stem *waiting;  /* those that would have it make more than it does at once */
	size_t n_alive;	       /* boxes and drivers that are not freed yet */
	void (*emptied)(struct engine *e); /* or NULL: n_alive became 0, from the loop */
	void *arg;			   /* of whoever set `emptied` */
};

/*
 * Find the parts, start the warden, give up every right that is not needed. The warden gets itself
 * ready meanwhile; engine_attach() joins it to the loop. Errors: ERR_BOX; engine_stop() is then to
 * be called as well.
 */
int engine_start(struct engine *e, struct err *err);
int engine_attach(struct engine *e, uv_loop_t *loop, struct err *err);

/* Have all boxes end at once, and the warden with them; whoever waits for one hears of it from the
 * loop. engine_stop() is still to come. */
void engine_end_boxes(struct engine *e);

/* Stop the warden, which destroys what boxes there are. Blocks: some milliseconds. May be called
 * twice. */
void engine_stop(struct engine *e);

/* Has the warden ended by itself? Then no box is left, and there will be no more. */
bool engine_is_over(const struct engine *e);

/* One thing more, or one less, that must be gone before the loop can end. */
void engine_hold(struct engine *e);
void engine_release(struct engine *e);
