/* Fronts: wires of other programs that run code, spoken at the HTTP server so that their clients
 * work with retort. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"

struct front_set;
struct port_way;

struct front_set_config {
	const char *const *names;
	size_t n_names;
	/* Parameters of session.create for the boxes of fronts: `preload`, `python`, `net` and
	 * `limits` are used. Borrowed. */
	const json_t *box;
	uint64_t idle_ms; /* what a client has made and does not use ends after this time */
};

/*
 * Open the fronts called `names` in @config, in that order. Each is served below "/NAME/", and at
 * the paths of its own wire, unless a front before it has the same path. Owns: the caller closes it
 * with front_set_close(). Errors: ERR_USAGE: no front has that name, or it is named twice.
 */
int front_set_open(struct front_set **out, const struct front_set_config *config, struct err *err);

/* Give the fronts the way to ports of boxes, before the first request. Borrowed. NULL: do nothing.
 */
void front_set_ports(struct front_set *f, struct port_way *ports);

/* Return the routes for the HTTP server, and their number. They refer to @f. */
const struct http_route *front_set_routes(const struct front_set *f, size_t *n);

/* End what the fronts have begun for their clients, such as kernels. Call it again, after a turn of
 * the loop, while the result is true: something is under way. NULL: return false. */
bool front_set_stop(struct front_set *f);

/* To be called after the engine was closed, because calls may use it until then. NULL: do
 * nothing. */
void front_set_close(struct front_set *f);

/* The names of all fronts, for messages: "dify, piston, …". */
const char *front_set_names(void);
