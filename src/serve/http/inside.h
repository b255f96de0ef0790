/* Connections and exchanges: declarations that the files of the HTTP server share.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/metrics.h"
#include "api/operation/outstanding.h"
#include "base/work.h"
#include "serve/http/address.h"
#include "serve/http/linger.h"
#include "net/microhttpd.h"
#include "serve/http/server.h"
#include "serve/tls/tls_client.h"

enum { HTTP_CHECK_MS = 500, HTTP_PART_BYTES = 64 << 10, HTTP_BEAT_MS = 15000 };
enum { HTTP_STUCK_MS = 10000 };

/* The state of a connection. */
enum http_phase {
	HTTP_WAITING, /* the server waits for a request, or for the rest of its headers */
	HTTP_READING, /* the server receives the body of a request */
	HTTP_BUSY,    /* the handler works, or the response is being sent */
};

struct http_connection {
	struct http_connection *next, **link;
	struct http_server *server;
	struct MHD_Connection *mhd;
	struct http_exchange *x; /* the current exchange */
	/* The client's socket, or with TLS a socket in its place; the library closes it. */
	int fd;
	struct tls_client *tls; /* NULL without TLS */
	struct address peer;
	char *target; /* of the current request, as the client sent it */
	enum http_phase phase;
	/* is_surplus: over the limit of clients, so its requests get status 503. has_begun: part of
	 * the next request has arrived. */
	bool is_surplus, has_begun;
	/* The client has sent a request with a valid token (any request if no tokens are
	 * configured). */
	bool is_proven;
	/* The server has shut down the connection, to make room for another client. */
	bool is_given_up;
	/* At the last check, the client had shut down its sending side. */
	bool has_left;
	/* Since when the client has been in the phase; for a body, when its last whole 64 KiB had
	 * arrived. */
	uint64_t since_ms, heard_bytes;
};

/* A request and its response. It has two owners, and is freed when both have released it. The
 * library releases it when the request is over, and `connection` is then NULL. The handler releases
 * it with its response, and `is_held` is then false. */
struct http_exchange {
	struct http_exchange *next, **link; /* the list of all exchanges of the server */
	struct http_exchange *next_waiting;
	struct http_server *server; /* NULL if the server was closed */
	/* NULL if the request is over, or the client has disconnected */
	struct http_connection *connection;
	const struct http_route *route;
	const struct operation_context *context;
	struct buf body, out;
	struct http_served *sender; /* whose bodies `body` is one of; NULL: it is empty so far */
	/* The parsed body, if `is_read` is set. NULL if the body could not be parsed, or if the
	 * handler has taken the value. */
	json_t *json;
	struct err json_err;
	int json_status;
	struct work reading;
	bool is_read;
	size_t out_at;
	struct MHD_Response *response;
	unsigned status, n_set;
	/* Headers that the handler added: name, value, name, value, … */
	char *set[2 * HTTP_SET_MAX];
	bool is_held; /* the handler has not given its response yet */
	bool has_token;
	enum credential credential;
	struct host_site site;
	bool is_passed;	   /* the response is another server's: no header is added to it */
	bool is_body_over; /* the whole body has arrived */
	bool is_cut;	   /* break the connection off after the rest of the stream */
	uint64_t body_bytes;
	uint64_t stuck_bytes, stuck_ms; /* body_bytes, and since when nothing has moved */
	/* Set while the connection is upgraded. */
	struct MHD_UpgradeResponseHandle *upgrade;
	void (*opened)(void *arg, int fd, const char *early, size_t bytes);
	void (*progress)(void *arg);
	void *opened_arg, *progress_arg;
	bool is_suspended, is_gone;
	void (*gone)(void *arg);
	void (*stop)(void *arg);
	void *gone_arg, *stop_arg;
	uint64_t since_ms, told_ms, sent_bytes;
	/* The bytes of a long response, as counted against the caller's limit (outstanding.h). */
	struct outstanding_part owed;
	bool is_events; /* the response is a stream of server-sent events */
	char note[HTTP_NOTE_BYTES], method[16], path[HTTP_NOTE_BYTES];
};

enum { HTTP_CALLERS = 256 };

/*
 * What the scheduler knows about a caller (schedule.c).
 * order: the number of the caller's request that was started last. The requests of all callers are
 * numbered in one sequence.
 * rests_until_ns: until this time, no request of the caller is started.
 */
struct http_served {
	uint64_t order, rests_until_ns;
	/* Number of the caller's request bodies that other threads are parsing. */
	unsigned n_reading;
	size_t bodies_bytes; /* of the caller's requests that are being received */
};

struct http_listener {
	struct http_server *server;
	int fd;
	uv_poll_t poll;
};

struct http_server {
	struct http_config config;
	struct microhttpd lib;
	struct MHD_Daemon *mhd;
	uv_poll_t poll;
	uv_timer_t wake, check, linger, turn;
	struct http_listener listeners[HTTP_LISTENERS_MAX];
	unsigned n_listeners, n_handles, n_connections;
	/* The first n_given elements of `listeners` are inherited. The first n_closed elements
	 * are closed, because listeners are closed from the front. */
	unsigned n_given, n_closed;
	struct http_connection *connections;
	struct http_exchange *exchanges;
	struct tls_clients *tls; /* NULL without TLS */
	struct lingerers lingerers;
	size_t bodies_bytes;
	/* List of the requests that wait for their turn (schedule.c). */
	struct http_exchange *waiting;
	uint64_t turn_ns, n_served;
	struct http_served served[HTTP_CALLERS];
	bool is_draining, is_closing;
	bool is_due; /* requests were resumed, so the library must run again at once */
	void (*closed)(void *arg);
	void *arg;
};

/* Add @by to the counter @what of /metrics. */
void http_count(const struct http_server *s, enum metrics_of what, int64_t by);

/* Make the checks that need no body. If one fails, the response is an error. Returns: 0, or -1 if a
 * check failed. */
int http_check(struct http_exchange *x);

/* http_suspend() makes the library ignore a request until http_resume() is called. http_resume()
 * does nothing if the request is not suspended. */
void http_resume(struct http_exchange *x);
void http_suspend(struct http_exchange *x);

/* http_schedule_begin() notes that a turn of the event loop begins. http_schedule() starts the
 * request of @x: now if possible, otherwise when it is the caller's turn. */
void http_schedule_begin(struct http_server *s);
void http_schedule(struct http_exchange *x);

/* Send a complete response whose body is @body, allocated with malloc(). @body NULL means that an
 * allocation failed; the connection is then closed. Owns: takes @body. */
void http_answer_text(
	struct http_exchange *x, unsigned status, const char *type, char *body, size_t bytes);

/* Append @text to a stream, whatever its length. The stream may take over the memory of @text
 * instead of copying. Returns: as http_stream_put(), but -E2BIG only over HTTP_HARD_BYTES. */
int http_stream_add(struct http_exchange *x, struct buf *text);

/* Plan the next run of the library. */
void http_plan(struct http_server *s);

/* Callbacks of the library: part of a request has arrived; a request is over; a connection begins
 * or ends. */
enum MHD_Result http_on_request(void *arg, struct MHD_Connection *mhd, const char *url,
	const char *method, const char *version, const char *data, size_t *bytes, void **slot);
void http_on_completed(
	void *arg, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode how);
void http_on_connection(void *arg, struct MHD_Connection *mhd, void **slot,
	enum MHD_ConnectionNotificationCode code);

/* Return how many bytes the client has sent, including those that nobody has read yet. With TLS,
 * those of its records. */
uint64_t http_heard_bytes(const struct http_connection *c);

/* Callbacks of the loop: accept clients; check all connections. */
void http_on_accept(uv_poll_t *poll, int status, int events);
void http_on_check(uv_timer_t *timer);

/*
 * A response is sent when the body of the request has arrived, since the library cannot do both at
 * once. A handler that waits for its response to be sent before it takes more of the body would
 * wait for ever. If that has lasted for HTTP_STUCK_MS, answer with an error instead. Returns:
 * whether it was.
 */
bool http_check_stuck(struct http_exchange *x);

/* Give the response to the library. If the handler has not responded yet, suspend the request. */
enum MHD_Result http_queue(struct http_exchange *x);

/* Count @bytes more of the body, or let go of as many. Returns: false: there would be more than
 * HTTP_BODIES_BYTES of all callers, or than half of that of this one. */
bool http_count_body(struct http_exchange *x, size_t bytes);
void http_uncount_body(struct http_exchange *x, size_t bytes);

/* Send a comment if the stream had no output for HTTP_BEAT_MS, because proxies close idle
 * connections. */
void http_stream_beat(struct http_exchange *x);

/* Mark the client as disconnected, and notify the handler. */
void http_lose(struct http_exchange *x);

/* Free the exchange if neither the library nor the handler needs it any more. */
void http_release(struct http_exchange *x);
