/* A client of `retort serve`, with one call at a time. SPDX-License-Identifier: Apache-2.0 */
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
 * Errors: ERR_NOT_FOUND: no engine listens there, with a hint; ERR_USAGE, ERR_ACCESS.
 */
int client_open(struct client *c, const char *path, struct err *err);
void client_done(struct client *c);

/* Write the default path: "$XDG_RUNTIME_DIR/retort/retort.sock"; its directory is created if
 * necessary. */
int client_usual_path(char *out, size_t bytes, struct err *err);

struct client_events {
	void *arg;
	void (*event)(void *arg, const json_t *event); /* receive {"event": …}, borrowed */
};

/*
 * Call @method and wait for its response. During step.run a SIGINT interrupts the step; a second
 * one kills it. @events: receives the events; or NULL.
 * Owns:    takes the reference of @params; the caller decrefs *@result.
 * Errors:  the engine's error, with its code and hint; ERR_GONE, ERR_PROTOCOL.
 */
int client_call(struct client *c, const char *method, json_t *params,
	const struct client_events *events, json_t **result, struct err *err);
