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

/* Everything is borrowed. */
struct once_request {
	struct order order;	 /* the box, the program and its limits */
	const char *const *argv; /* NULL-terminated; argv[0] is the program's name */
	const char *preload;	 /* modules to import first, "a,b", or NULL */
	int stdin_fd;		 /* or -1 */
	const char *out_dir;	 /* where new and changed files of the workspace go, or NULL */
	const struct tool_gate
		*gate; /* who answers its calls of tools, from the run's loop; or NULL */
	const struct step_listener *listener; /* or NULL */
	/* After the end, when a stream had more than the listener heard: bytes lost, then the bytes
	 * kept of the end. @arg is the listener's. Or NULL. */
	void (*tail)(void *arg, int stream, uint64_t cut_bytes, const char *data, size_t bytes);
};

struct once_result {
	json_t *record;	 /* as docs/use/run.md has it. Owns: the caller decrefs */
	int exit_status; /* what `retort run` ends with */
};

/* Can a box be made so, as far as the host tells? Makes none. Errors: as order_check(). */
int once_check(const struct order *order, struct err *err);

/*
 * Run it. SIGINT and SIGTERM stop the step, a second one at once.
 *
 * Blocks:  until everything the run had is gone again.
 * Returns: 0 when it ran, however it ended; negative errno when it could not be started, or, with
 * the record filled, when files could not be copied out. Errors:  ERR_USAGE, ERR_NOT_FOUND,
 * ERR_RUNTIME, ERR_BOX, ERR_NO_SPACE, ERR_INTERRUPTED.
 */
int once_run(const struct once_request *req, struct once_result *out, struct err *err);
