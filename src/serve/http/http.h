/* HTTP/1.1 on the loop: requests come whole, answers go whole or as a stream.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/buf.h"
#include "base/err.h"

#include <uv.h>

struct http_exchange; /* one request and its answer */

/*
 * What is served at one path. `start` gets each request once it is there in whole, its caller known
 * and its Host and Origin checked; it answers at once or later, but answers.
 */
struct http_route {
	const char *method, *path; /* "POST", "/rpc"; GET answers HEAD as well */
	const char *type;	   /* of its body: any other is answered with 415; NULL: any */
	size_t body_max_bytes;	   /* more is answered with 413 */
	bool is_open;		   /* without a token: /healthz */
	bool is_json;		   /* `start` calls http_take_json() */
	void *arg;
	void (*start)(void *arg, struct http_exchange *x);
};

/* Of the request; borrowed until it is answered. NULL: no such header, or the client is gone. */
const char *http_header(const struct http_exchange *x, const char *name);
/* The body as JSON: of a route with `is_json`, which has had it parsed where that holds up nobody.
 * Owns: the caller decrefs *@root. Returns: as rpc_load(). */
int http_take_json(struct http_exchange *x, json_t **root, struct err *err);
size_t http_body_bytes(const struct http_exchange *x);
/* What operations are called with: it says who calls. Outlives the exchange. */
const struct operation_context *http_context(const struct http_exchange *x);

/* One more header of the answer, before it begins. Returns: 0, -ENOMEM, -E2BIG: over
 * HTTP_SET_MAX of them, or a value that is none. */
enum { HTTP_SET_MAX = 8 };
int http_set_header(struct http_exchange *x, const char *name, const char *value);

/* What is done, for the log: "step.run". Cut at HTTP_NOTE_BYTES. */
enum { HTTP_NOTE_BYTES = 64 };
void http_note(struct http_exchange *x, const char *what);

/* Answer in whole. @body is copied. It is over for @x then. */
void http_answer(
	struct http_exchange *x, unsigned status, const char *type, const char *body, size_t bytes);
/* The same with {"error": {"code", "message", "hint"?}}. */
void http_refuse(struct http_exchange *x, unsigned status, const struct err *err);

/*
 * Answer in parts. A part that the client has not taken yet waits in memory: while more than
 * HTTP_SOFT_BYTES wait, another one is refused; the last, of http_answer_json(), is taken up to
 * HTTP_HARD_BYTES.
 *
 * Returns: 0, -E2BIG: the client is too slow, nothing was added; -EPIPE: it is gone; -ENOMEM.
 */
enum { HTTP_SOFT_BYTES = 1 << 20, HTTP_HARD_BYTES = 512 << 20 };
int http_stream_open(struct http_exchange *x, unsigned status, const char *type);
int http_stream_put(struct http_exchange *x, const char *data, size_t bytes);
/* The end of it; it is over for @x then. */
void http_stream_end(struct http_exchange *x);

/*
 * Answer with a JSON text, in whole, or, when @event is not NULL, as the last event of a stream,
 * of that name. A long one is made in another thread: nobody changes @message any more. It is over
 * for @x now.
 * Owns: takes @message, and @instead, which is said if that cannot be written or is too long. NULL:
 * 500, or the end of the stream.
 */
void http_answer_json(struct http_exchange *x, unsigned status, const char *event, json_t *message,
	json_t *instead);

/*
 * Told once when the client went away before its answer was over; it is over for @x then. NULL:
 * nobody wants to know any more, and what is answered to one who is gone is dropped.
 */
void http_on_gone(struct http_exchange *x, void (*gone)(void *arg), void *arg);
/* Told once, meanwhile, when the server ends and what runs should end, too. NULL as above. */
void http_on_stop(struct http_exchange *x, void (*stop)(void *arg), void *arg);
