/* A client of `retort serve`. It makes one call at a time. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

struct client {
	int fd;
	struct buf in;
	json_int_t last_id;
};

/*
 * Connect to the engine at @path; NULL: at the default path.
 * Errors: ERR_UNREACHABLE: no engine listens there; ERR_USAGE, ERR_ACCESS, ERR_IO.
 */
int client_open(struct client *c, const char *path, struct err *err);
void client_done(struct client *c);

/* Write the default path of the socket to @out: "$XDG_RUNTIME_DIR/retort/retort.sock". Its
 * directory is created if necessary. */
int client_usual_path(char *out, size_t bytes, struct err *err);

struct client_events {
	void *arg;
	/* Called with each event of the call. @event is borrowed. */
	void (*event)(void *arg, const json_t *event);
};

/*
 * Call @method and wait for its response. During step.run, a SIGINT interrupts the step, and a
 * second one kills it. @events: gets the events of the call; may be NULL.
 * Owns: the reference to @params is taken. The caller decrefs *@result.
 * Errors: those of the engine, with code and hint; ERR_GONE, ERR_PROTOCOL.
 */
int client_call(struct client *c, const char *method, json_t *params,
	const struct client_events *events, json_t **result, struct err *err);
