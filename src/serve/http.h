/* HTTP/1.1 on the loop: requests come whole, answers go whole or as a stream.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation.h"
#include "base/buf.h"
#include "base/err.h"

#include <uv.h>

struct http_server;
struct http_exchange; /* one request and its answer */

/*
 * What is served at one path. `start` gets each request once it is there in whole, its caller known
 * and its Host and Origin checked; it answers at once or later, but answers.
 */
struct http_route {
	const char *method, *path; /* "POST", "/rpc" */
	size_t body_max_bytes;	   /* more is answered with 413 */
	bool is_open;		   /* without a token: /healthz */
	void *arg;
	void (*start)(void *arg, struct http_exchange *x);
};

/* Of the request; borrowed until it is answered. NULL: no such header. */
const char *http_header(const struct http_exchange *x, const char *name);
const char *http_body(const struct http_exchange *x, size_t *bytes);
/* What operations are called with: it says who calls. */
const struct operation_context *http_context(const struct http_exchange *x);

/* One more header of the answer, before it begins. Returns: 0, -ENOMEM. */
int http_set_header(struct http_exchange *x, const char *name, const char *value);

/* Answer in whole. @body is copied. It is over for @x then. */
void http_answer(
	struct http_exchange *x, unsigned status, const char *type, const char *body, size_t bytes);

/*
 * Answer in parts. A part that the client has not taken yet waits in memory: above what
 * http_stream_put() allows it is refused.
 *
 * Returns: http_stream_put(): 0, -E2BIG: the client is too slow, nothing was added; -EPIPE: it is
 * gone.
 */
int http_stream_open(struct http_exchange *x, unsigned status, const char *type);
int http_stream_put(struct http_exchange *x, const char *data, size_t bytes);
/* The end of it; it is over for @x then. */
void http_stream_end(struct http_exchange *x);

/*
 * Told once when the client went away before its answer was over; it is over for @x then. NULL:
 * nobody wants to know any more, and what is answered to one who is gone is dropped.
 */
void http_on_gone(struct http_exchange *x, void (*gone)(void *arg), void *arg);
