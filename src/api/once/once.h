/* The operation behind `retort run`: one program, once, in a box of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/start/order.h"
#include "session/step/step_order.h"
#include "session/tool_call.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A program to run. All members are borrowed. */
struct once_request {
	struct order order;		      /* the box, the program and its limits */
	const char *const *argv;	      /* NULL-terminated; argv[0] is the program's name */
	const char *preload;		      /* modules to import first, "a,b", or NULL */
	int stdin_fd;			      /* standard input, or -1 */
	const char *out_dir;		      /* directory for new and changed files, or NULL */
	const struct tool_gate *gate;	      /* answers tool calls, from the run's loop; or NULL */
	const struct step_listener *listener; /* or NULL */
	/* Called at the end for a stream of which the listener did not get everything: @cut_bytes
	 * are lost, @data is the end. @arg is the listener's. Or NULL. */
	void (*tail)(void *arg, int stream, uint64_t cut_bytes, const char *data, size_t bytes);
};

struct once_result {
	json_t *record;	 /* as in docs/use/run.md. Owns: the caller decrefs */
	int exit_status; /* exit status of `retort run` */
};

/* Could the host make a box for @order? No box is made. Errors: as order_check(). */
int once_check(const struct order *order, struct err *err);

/*
 * Run the program. SIGINT and SIGTERM interrupt the step; a second signal stops it at once.
 *
 * Blocks:  until the box and all else of the run is freed.
 * Returns: 0 when the program ran, however it ended; negative errno when it could not be started,
 * or, with the record filled, when files could not be copied out.
 * Errors: ERR_USAGE, ERR_NOT_FOUND, ERR_RUNTIME, ERR_BOX, ERR_NO_SPACE, ERR_INTERRUPTED.
 */
int once_run(const struct once_request *req, struct once_result *out, struct err *err);
