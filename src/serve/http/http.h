/* HTTP/1.1 on the loop: requests are delivered whole; answers are sent whole or as a stream.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/buf.h"
#include "base/err.h"

#include <uv.h>

struct http_exchange; /* one request and its answer */

/* A route. `start` gets each request when it is complete, its caller known, its Host and Origin
 * checked. It has to answer, at once or later. */
struct http_route {
	const char *method, *path; /* "POST", "/rpc"; GET answers HEAD as well */
	const char *type;	   /* of the body: others are answered with 415; NULL: any */
	size_t body_max_bytes;	   /* larger bodies are answered with 413 */
	bool is_open;		   /* no token is needed: /healthz */
	bool is_json;		   /* `start` calls http_take_json() */
	void *arg;
	void (*start)(void *arg, struct http_exchange *x);
};

/* A header of the request; borrowed until it is answered. NULL: missing, or the client is gone. */
const char *http_header(const struct http_exchange *x, const char *name);
/* The body as JSON, for a route with `is_json`; a long one was parsed in another thread. Owns: the
 * caller decrefs *@root. Returns: as rpc_load(). */
int http_take_json(struct http_exchange *x, json_t **root, struct err *err);
size_t http_body_bytes(const struct http_exchange *x);
/* The context for operations, which names the caller. Outlives the exchange. */
const struct operation_context *http_context(const struct http_exchange *x);

/* Add a header to the answer, before it begins. Returns: 0, -ENOMEM, -E2BIG: over HTTP_SET_MAX, or
 * an invalid value. */
enum { HTTP_SET_MAX = 8 };
int http_set_header(struct http_exchange *x, const char *name, const char *value);

/* What the request does, for the log: "step.run". Cut at HTTP_NOTE_BYTES. */
enum { HTTP_NOTE_BYTES = 64 };
void http_note(struct http_exchange *x, const char *what);

/* Answer. @body is copied. @x must not be used afterwards. */
void http_answer(
	struct http_exchange *x, unsigned status, const char *type, const char *body, size_t bytes);
/* The same with {"error": {"code", "message", "hint"?}}. */
void http_refuse(struct http_exchange *x, unsigned status, const struct err *err);

/*
 * Answer in parts. Parts that the client has not read yet wait in memory. While more than
 * HTTP_SOFT_BYTES wait, further parts are refused; the last part, of http_answer_json(), is
 * accepted up to HTTP_HARD_BYTES.
 *
 * Returns: 0, -E2BIG: the client is too slow, nothing was added; -EPIPE: it is gone; -ENOMEM.
 */
enum { HTTP_SOFT_BYTES = 1 << 20, HTTP_HARD_BYTES = 512 << 20 };
int http_stream_open(struct http_exchange *x, unsigned status, const char *type);
int http_stream_put(struct http_exchange *x, const char *data, size_t bytes);
/* End the stream. @x must not be used afterwards. */
void http_stream_end(struct http_exchange *x);

/*
 * Answer with JSON: whole, or, if @event is not NULL, as the last event of a stream, with that
 * name. A long one is written in another thread, so @message must not change any more. @x must not
 * be used afterwards.
 * Owns:    takes @message, and @instead, which is sent if @message is too long. NULL: status 500,
 *          or the end of the stream.
 */
void http_answer_json(struct http_exchange *x, unsigned status, const char *event, json_t *message,
	json_t *instead);

/* Called once if the client goes away before the answer is complete; @x must not be used
 * afterwards. NULL: nobody is called, and the answer is dropped. */
void http_on_gone(struct http_exchange *x, void (*gone)(void *arg), void *arg);
/* Called once if the server stops and running operations should stop, too. NULL: as above. */
void http_on_stop(struct http_exchange *x, void (*stop)(void *arg), void *arg);
