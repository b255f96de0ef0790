/* The interface between the HTTP/1.1 server and the handlers of its routes. A handler gets each
 * request after its whole body has arrived, and responds with one complete body or with a stream.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/buf.h"
#include "base/err.h"
#include "serve/http/credential.h"
#include "serve/http/host.h"

#include <sys/types.h>
#include <uv.h>

struct http_exchange; /* one request and its response */
struct token_list;

/* A route: a method and path, and its handler `start`. The server calls `start` when a request is
 * complete and has passed all checks, such as those of token, Host and Origin. `start` must
 * respond, at once or later. */
struct http_route {
	/* Method and path, such as "POST" and "/rpc". A route for GET also gets HEAD requests. A
	 * path that ends in "/" stands for all paths that begin with it, "*" for all paths. Method
	 * NULL: any. */
	const char *method, *path;
	/* The content type that the body must have (otherwise status 415); NULL if any is
	 * allowed. */
	const char *type;
	size_t body_max_bytes; /* maximum length of the body; a longer one gets status 413 */
	bool is_open;	       /* true if requests need no token, as for /healthz */
	/* A request with a header Upgrade needs no token: `start` asks for one over the WebSocket,
	 * and looks it up in http_tokens(). Until then, its context is nobody's to use. */
	bool is_open_socket;
	bool is_json; /* `start` calls http_take_json() */
	/* `start` is called before the body, which the handler takes with http_take_body(). */
	bool is_streamed;
	/* A request that is refused is answered with {"code": status, "message": text}. */
	bool has_flat_errors;
	bool is_for_sites; /* it also gets all requests to hosts that are sites (host.h) */
	/* Ports of sites that are this route's and no port of a session: it also gets requests to
	 * them, if method and path fit. No route with `is_for_sites` gets a request to such a
	 * port. Borrowed; NULL if there are none. */
	const uint16_t *site_ports;
	size_t n_site_ports;
	/* Asked, for each request to another site, whether it may go there whatever token it has.
	 * Returns: whether it may; @context then has the caller as which it goes, and outlives the
	 * exchange. NULL: it may not. */
	bool (*opens_site)(
		void *arg, const struct http_exchange *x, const struct operation_context **context);
	/* The token may come in each way of credential.h, not only as a bearer token. */
	bool is_for_browsers;
	/* Another header that may have the token, or NULL. If it is set, the token may also be the
	 * password of Basic, as clients send it for "http://any:TOKEN@host", or the whole value of
	 * Authorization. */
	const char *key_header;
	/* A parameter of the query and a cookie that may have the token, or NULL. With key_query,
	 * "Authorization: token TOKEN" works, too. A browser sends cookies for pages of others as
	 * well, so a cookie counts only if the header X-XSRFToken has the value of the cookie
	 * "_xsrf": no other page can know it, or send that header. */
	const char *key_query, *key_cookie;
	void *arg;
	void (*start)(void *arg, struct http_exchange *x);
};

/* Return a header of the request, valid until the response is given. Returns: NULL if the request
 * lacks the header, or if the client has disconnected. */
const char *http_header(const struct http_exchange *x, const char *name);
/* Return the method; the whole target of the request as the client sent it, "/path?query"; and the
 * value of a parameter of its query, NULL if it has none. Valid until the response is given. */
const char *http_method(const struct http_exchange *x);
const char *http_target(const struct http_exchange *x);
const char *http_query(const struct http_exchange *x, const char *name);
/* Call @each with each header of the request. */
void http_each_header(const struct http_exchange *x,
	void (*each)(void *arg, const char *name, const char *value), void *arg);
/* Return where the caller's token was found, and the site that the request is for, whose port is 0
 * if it is for none. */
enum credential http_credential(const struct http_exchange *x);
const struct host_site *http_site(const struct http_exchange *x);
/* Return whether @authorization, a value of that header, has a token of this engine. */
bool http_has_token(const struct http_exchange *x, const char *authorization);

/* Return whether the engine has tokens, so that requests need one. */
bool http_has_tokens(const struct http_exchange *x);
/* Return the engine's tokens (token.h); NULL: it has none, and requests need none. */
const struct token_list *http_tokens(const struct http_exchange *x);

/*
 * Take the next piece of a streamed body: up to @max bytes.
 * Returns: how many; 0 at the end of the body; -EAGAIN if there are none now.
 */
ssize_t http_take_body(struct http_exchange *x, char *data, size_t max);
/* Return the length of the body; -1 if only its end will tell. */
int64_t http_body_length(const struct http_exchange *x);
/* Set the function that is called when more of a streamed body has arrived, and when the client has
 * read so much of a stream that http_stream_is_behind() is false again. */
void http_on_progress(struct http_exchange *x, void (*progress)(void *arg), void *arg);

/* Return the body as JSON, for a route with `is_json`. If the body is long, another thread has
 * parsed it already. Owns: the caller decrefs *@root. Returns: as rpc_load(). */
int http_take_json(struct http_exchange *x, json_t **root, struct err *err);
size_t http_body_bytes(const struct http_exchange *x);
/* Return the body, of http_body_bytes() bytes, for a route without `is_json` and `is_streamed`.
 * Valid until the response is given. */
const char *http_body(const struct http_exchange *x);

/* A piece of a field of a form. Valid until `each` returns. */
struct http_piece {
	const char *name;     /* of the field; "" if it has none */
	const char *filename; /* NULL: the field is not a file */
	const char *data;
	size_t bytes;
	uint64_t offset; /* of the piece in its field; 0: the field begins */
};
/*
 * Read the body as a form (multipart/form-data), for a route without `is_json`. @each is called
 * with each piece of each field, in order, and returns whether it wants more. Names and data are
 * any bytes. Errors: ERR_USAGE: the body is not a form, or is not whole; what came before was given
 * to @each.
 */
int http_read_form(struct http_exchange *x, bool (*each)(void *arg, const struct http_piece *piece),
	void *arg, struct err *err);
/*
 * The same for a body that comes in pieces, as with `is_streamed`: http_form_open(),
 * http_form_put() for each piece, and http_form_close(), which must be called before the response
 * is given and when the client has gone, and says whether the form was whole. `each` may be called
 * by http_form_put() and http_form_close(). Errors: as above.
 */
struct http_form;
int http_form_open(struct http_form **out, struct http_exchange *x,
	bool (*each)(void *arg, const struct http_piece *piece), void *arg, struct err *err);
int http_form_put(struct http_form *f, const char *data, size_t bytes, struct err *err);
int http_form_close(struct http_form *f, struct err *err);

/* Return the context in which to start operations. It identifies the caller, and outlives the
 * exchange. */
const struct operation_context *http_context(const struct http_exchange *x);
/* Let the request be one of another caller, after its handler has found a secret in it: for the
 * log, and for the limits of callers. */
void http_set_context(struct http_exchange *x, const struct operation_context *context);

/* Add a header to the response, before the response is given. Returns: 0, -ENOMEM; -E2BIG if
 * HTTP_SET_MAX headers were added already, or @value is not valid. */
enum { HTTP_SET_MAX = 128 };
int http_set_header(struct http_exchange *x, const char *name, const char *value);

/* Drop all headers that were added. The response gets no others than those that are added from now
 * on: it is another server's. */
void http_pass_headers(struct http_exchange *x);

/* Set the name of the operation, such as "step.run", for the log. Longer names are cut to fit into
 * HTTP_NOTE_BYTES. */
enum { HTTP_NOTE_BYTES = 64 };
void http_note(struct http_exchange *x, const char *what);

/* Send a complete response with a copy of @body. @x must not be used afterwards. */
void http_answer(
	struct http_exchange *x, unsigned status, const char *type, const char *body, size_t bytes);
/* As http_answer(), for a response that may be long: it counts against the caller's limit of what
 * is unread, beyond which the response is an error with status 503. Owns: takes @body, allocated
 * with malloc(). */
void http_answer_long(
	struct http_exchange *x, unsigned status, const char *type, char *body, size_t bytes);
/* Count @bytes, which are kept for a response, as http_answer_long() does. Returns: false: a long
 * response of the caller would have to be refused now; what is kept should be let go. */
bool http_owe(struct http_exchange *x, size_t bytes);
/* Return whether @body is long, and the caller has left too many long responses unread for another
 * one. */
bool http_is_full(const struct http_exchange *x, const json_t *body);
/* Send an error response: {"error": {"code", "message", "hint"?}}. @x must not be used
 * afterwards. */
void http_refuse(struct http_exchange *x, unsigned status, const struct err *err);

/*
 * http_stream_open() starts a response that is a stream; http_stream_put() appends data to it.
 *
 * Data that the client has not read yet is kept in memory. While more than HTTP_SOFT_BYTES are
 * unread, http_stream_put() refuses further data. Only http_answer_json(), which appends the last
 * event, may exceed this limit, up to HTTP_HARD_BYTES.
 *
 * Returns: 0; -E2BIG if the client reads too slowly, and the data was not appended; -EPIPE if the
 *          client has disconnected; -ENOMEM.
 */
enum { HTTP_SOFT_BYTES = 1 << 20, HTTP_HARD_BYTES = 512 << 20 };
int http_stream_open(struct http_exchange *x, unsigned status, const char *type);
/* As http_stream_open(), for a stream whose length is known; -1: it is not. @type may be NULL. */
int http_stream_open_sized(
	struct http_exchange *x, unsigned status, const char *type, int64_t bytes);
int http_stream_put(struct http_exchange *x, const char *data, size_t bytes);
/* Return whether more than half of HTTP_SOFT_BYTES are unread. */
bool http_stream_is_behind(const struct http_exchange *x);
/* End the stream, and with it the response. @x must not be used afterwards. */
void http_stream_end(struct http_exchange *x);
/* As http_stream_end(), but break the connection off, so that nobody takes the response for
 * complete. */
void http_stream_cut(struct http_exchange *x);

/*
 * Answer with status 101: the connection is not HTTP any more. The request must be a GET without a
 * body. `opened` is called when the response has been sent. Owns: its callee takes @fd, the socket,
 * non-blocking; @early are bytes that the client has sent already.
 * When the connection is over, the handler calls http_upgrade_end(). @x must not be used
 * afterwards.
 */
void http_upgrade(struct http_exchange *x,
	void (*opened)(void *arg, int fd, const char *early, size_t bytes), void *arg);
void http_upgrade_end(struct http_exchange *x);

/*
 * Respond with the JSON value @message. @x must not be used afterwards.
 * - @event NULL: @message is the body of a complete response.
 * - @event not NULL: a stream must be open. @message becomes the data of its last event, whose name
 *   is @event. Then the stream ends.
 *
 * @instead is sent in the place of @message if @message is too long, or if the caller has left too
 * many long responses unread. If @instead is NULL in such a case, a complete response is that of
 * http_refuse(), and a stream ends without the last event.
 *
 * Another thread may serialize @message later, so @message must not be changed afterwards.
 * Owns: takes @message and @instead.
 */
void http_answer_json(struct http_exchange *x, unsigned status, const char *event, json_t *message,
	json_t *instead);

/* Set the function that is called once if the client disconnects before the response is given.
 * That function must not use @x any more. If @gone is NULL, no function is called: the handler
 * must still respond, and the response is dropped. */
void http_on_gone(struct http_exchange *x, void (*gone)(void *arg), void *arg);
/* Return whether the client has closed the connection by now, even if the function of
 * http_on_gone() was not called yet. */
bool http_has_left(const struct http_exchange *x);
/* Set the function that is called once when the server stops and wants running operations to end.
 * If @stop is NULL, no function is called. */
void http_on_stop(struct http_exchange *x, void (*stop)(void *arg), void *arg);
