/* A client of `retort serve`. client_call() makes one call at a time. SPDX-License-Identifier:
 * Apache-2.0 */
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
/* Make a client of a connected socket. Owns: @fd is taken. */
struct client client_of(int fd);
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

/* What client_call() is made of, for a caller that has several calls open at a time. */

/* Return the text of a request without its line end; its id is c->last_id. NULL: no memory. Owns:
 * the caller frees. */
char *client_request(struct client *c, const char *method, const json_t *params);

/* Convert the member "error" of a response to @err. Returns: negative errno. */
int client_error(const json_t *error, struct err *err);
