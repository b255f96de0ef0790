/* HTTP/1.1 on the event loop: requests are delivered complete; responses are sent complete or as a
 * stream. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/buf.h"
#include "base/err.h"

#include <uv.h>

struct http_exchange; /* a request and its response */

/* A route. `start` receives each request when the request is complete and admitted: the caller is
 * known, Host and Origin are checked. `start` has to respond, at once or later. */
struct http_route {
	const char *method, *path; /* "POST", "/rpc"; a route for GET also handles HEAD */
	const char *type;	   /* content type of the body: others get status 415; NULL: any */
	size_t body_max_bytes;	   /* maximum length of the body: longer bodies get status 413 */
	bool is_open;		   /* no token is required: /healthz */
	bool is_json;		   /* `start` calls http_take_json() */
	void *arg;
	void (*start)(void *arg, struct http_exchange *x);
};

/* Return a header of the request, borrowed until the response; NULL: missing, or the client has
 * disconnected. */
const char *http_header(const struct http_exchange *x, const char *name);
/* Return the body as JSON, for a route with `is_json`; another thread has parsed a long body. Owns:
 * the caller decrefs *@root. Returns: as rpc_load(). */
int http_take_json(struct http_exchange *x, json_t **root, struct err *err);
size_t http_body_bytes(const struct http_exchange *x);
/* Return the context for operations, which identifies the caller. Outlives the exchange. */
const struct operation_context *http_context(const struct http_exchange *x);

/* Add a header to the response, before the response begins. Returns: 0, -ENOMEM, -E2BIG: over
 * HTTP_SET_MAX, or an invalid value. */
enum { HTTP_SET_MAX = 8 };
int http_set_header(struct http_exchange *x, const char *name, const char *value);

/* Set the name of the operation for the log: "step.run". Cut at HTTP_NOTE_BYTES. */
enum { HTTP_NOTE_BYTES = 64 };
void http_note(struct http_exchange *x, const char *what);

/* Send a response. @body is copied. @x must not be used afterwards. */
void http_answer(
	struct http_exchange *x, unsigned status, const char *type, const char *body, size_t bytes);
/* Send an error response: {"error": {"code", "message", "hint"?}}. @x must not be used afterwards.
 */
void http_refuse(struct http_exchange *x, unsigned status, const struct err *err);

/*
 * Send a response as a stream. Parts that the client has not read yet wait in memory. While more
 * than HTTP_SOFT_BYTES wait, further parts are refused; the last part, of http_answer_json(), is
 * accepted up to HTTP_HARD_BYTES.
 *
 * Returns: 0, -E2BIG: the client is too slow, the part was not added; -EPIPE: the client has
 * disconnected; -ENOMEM.
 */
enum { HTTP_SOFT_BYTES = 1 << 20, HTTP_HARD_BYTES = 512 << 20 };
int http_stream_open(struct http_exchange *x, unsigned status, const char *type);
int http_stream_put(struct http_exchange *x, const char *data, size_t bytes);
/* End the stream and the response. @x must not be used afterwards. */
void http_stream_end(struct http_exchange *x);

/*
 * Respond with JSON: as a complete response, or, if @event is not NULL, as the last event of a
 * stream, with that name. Another thread writes a long message, so @message must not change any
 * more. @x must not be used afterwards.
 * Owns:    takes @message, and @instead, which is sent if @message is too long. NULL: status 500,
 *          or the end of the stream.
 */
void http_answer_json(struct http_exchange *x, unsigned status, const char *event, json_t *message,
	json_t *instead);

/* Set a callback that is called once if the client disconnects before the response is complete; @x
 * must not be used afterwards. NULL: no callback; the response is dropped. */
void http_on_gone(struct http_exchange *x, void (*gone)(void *arg), void *arg);
/* Set a callback that is called once if the server stops and running operations should stop, too.
 * NULL: no callback. */
void http_on_stop(struct http_exchange *x, void (*stop)(void *arg), void *arg);
