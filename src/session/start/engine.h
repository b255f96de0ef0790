/*
 * The engine: what all sessions of a process share, such as the loop, the warden and the paths
 * of installed files.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/install.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum { ENGINE_CHUNK_BYTES = 256 << 10, ENGINE_SOCKET_DIRS = 2 };

struct gateway;
struct layer_store;
struct stem;
struct trust;

struct engine {
	struct install install;
	/* Directories in which this engine makes unix sockets, borrowed; NULL: none. No box may be
	 * able to write there (order_check_sockets()). */
	const char *socket_dirs[ENGINE_SOCKET_DIRS];
	struct warden *warden; /* NULL before engine_start() and after engine_stop() */
	/* Connects boxes to the network. NULL before engine_attach() and after engine_stop(). */
	struct gateway *gateway;
	/* For boxes with rules for requests. NULL before engine_start() and after engine_stop(). */
	struct trust *trust;
	struct layer_store *layers; /* for the registry, borrowed; NULL: there are no templates */
	uv_loop_t *loop;	    /* NULL before engine_attach() */
	char *chunk;		    /* buffer of ENGINE_CHUNK_BYTES, into which output is read */
	unsigned n_urgent;    /* number of urgent tasks: steps, and branches or stems being made */
	unsigned n_branching; /* number of branches that the warden is making */
	struct stem *waiting; /* list of stems that wait because too many branches are being made */
	/* number of references by engine_hold() from sessions, boxes, drivers and stems */
	size_t n_alive;
	/* Called from the loop when n_alive becomes 0. May be NULL. */
	void (*emptied)(struct engine *e);
	void *arg; /* argument for `emptied` */
};

/*
 * engine_start() finds the installed files, starts the warden, and gives up all capabilities that
 * are not needed. While the warden prepares itself in its own process, the caller can go on.
 * engine_attach() connects the warden to the loop.
 * Errors: ERR_BOX, ERR_NO_MEMORY. Call engine_stop() after an error as well.
 */
int engine_start(struct engine *e, struct err *err);
int engine_attach(struct engine *e, uv_loop_t *loop, struct err *err);

/* End all boxes and the warden at once. Callers that wait for a box get an error, from the loop.
 * engine_stop() must still be called. */
void engine_end_boxes(struct engine *e);

/* Stop the warden, which destroys all boxes. A second call does nothing. Blocks: some
 * milliseconds. */
void engine_stop(struct engine *e);

/* Return whether the warden has ended by itself. Then all boxes have ended, and no new box can
 * be made. */
bool engine_is_over(const struct engine *e);

/* engine_hold() counts an object that must be freed before the loop can end. engine_release() is
 * called when the object is freed. */
void engine_hold(struct engine *e);
void engine_release(struct engine *e);
