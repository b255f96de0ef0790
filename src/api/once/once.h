/* The operation behind `retort run`: one program, once, in a box of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "session/start/order.h"
#include "session/tool_call.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Everything is borrowed. */
struct run_request {
	struct order order;	 /* the box, the program and its limits */
	const char *const *argv; /* NULL-terminated; argv[0] is the program's name */
	const char *preload;	 /* modules to import first, "a,b", or NULL */
	int stdin_fd;		 /* or -1 */
	const char *out_dir;	 /* where new and changed files of the workspace go, or NULL */
	const struct tool_gate
		*gate; /* who answers its calls of tools, from the run's loop; or NULL */
};

/*
 * What is heard while it runs; any may be NULL.
 *
 * started  the box is there and the driver starts.
 * output   bytes of stream 0 (stdout) or 1 (stderr) as they come, as far as the record's head keeps
 * them. tail     after the end, when there was more: bytes lost, then the bytes kept of the end.
 * display  {mime: value}, borrowed.
 * tool     as registry_watch has it, borrowed.
 */
struct run_events {
	void *arg;
	void (*started)(void *arg, const char *session);
	void (*output)(void *arg, int stream, const char *data, size_t bytes);
	void (*tail)(void *arg, int stream, uint64_t cut_bytes, const char *data, size_t bytes);
	void (*display)(void *arg, const json_t *display);
	void (*tool)(void *arg, const json_t *event);
};

struct run_result {
	json_t *record;	 /* CONTRACT §3. Owns: the caller decrefs */
	int exit_status; /* what `retort run` ends with */
};

/* Can a box be made so, as far as the host tells? Makes none. Errors: as order_check(). */
int run_check(const struct order *order, struct err *err);

/*
 * Run it. SIGINT and SIGTERM stop the step, a second one at once.
 *
 * Blocks:  until everything the run had is gone again.
 * Returns: 0 when it ran, however it ended; negative errno when it could not be started, or, with
 * the record filled, when files could not be copied out. Errors:  ERR_USAGE, ERR_NOT_FOUND,
 * ERR_RUNTIME, ERR_BOX, ERR_NO_SPACE, ERR_INTERRUPTED.
 */
int run_once(const struct run_request *req, const struct run_events *events, struct run_result *out,
	struct err *err);
