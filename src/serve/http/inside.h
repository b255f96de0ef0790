/* Connections and exchanges: declarations shared by the files of the HTTP server.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/metrics.h"
#include "api/operation/outstanding.h"
#include "base/work.h"
#include "serve/http/address.h"
#include "serve/http/linger.h"
#include "serve/http/microhttpd.h"
#include "serve/http/server.h"

enum { HTTP_CHECK_MS = 500, HTTP_PART_BYTES = 64 << 10, HTTP_BEAT_MS = 15000 };

/* The state of a connection. */
enum http_phase {
	HTTP_WAITING, /* waiting for a request, or the rest of its head */
	HTTP_READING, /* receiving the body of a request */
	HTTP_BUSY,    /* waiting for the response to a request */
};

struct http_connection {
	struct http_connection *next, **link;
	struct http_server *server;
	struct MHD_Connection *mhd;
	struct http_exchange *x; /* the current exchange */
	int fd;			 /* descriptor of the client; borrowed from the library */
	struct address peer;
	enum http_phase phase;
	bool is_surplus, has_begun; /* has_begun: part of the next head was received */
	bool is_proven;		    /* the client has sent a token; or, without tokens, a request */
	bool is_given_up;	    /* closed to make room for another client */
	bool has_left;		    /* at the last check, the client had shut down its side */
	uint64_t since_ms, heard_bytes;
};

/* A request and its response, with two owners: the library, until the request is over, and the
 * handler. `connection` and `is_held` tell which of them still own it. */
struct http_exchange {
	struct http_exchange *next, **link; /* list of all exchanges of the server */
	struct http_exchange *next_waiting;
	struct http_server *server;	    /* NULL: the server was closed */
	struct http_connection *connection; /* NULL: the client has disconnected */
	const struct http_route *route;
	const struct operation_context *context;
	struct buf body, out;
	json_t *json; /* the parsed body, if `is_read`; NULL after an error */
	struct err json_err;
	int json_status;
	struct work reading;
	bool is_read;
	size_t out_at;
	struct MHD_Response *response;
	unsigned status, n_set;
	char *set[2 * HTTP_SET_MAX]; /* pairs: name, value, … */
	bool is_held;		     /* the handler has not responded yet */
	bool has_token;
	bool is_suspended, is_gone;
	void (*gone)(void *arg);
	void (*stop)(void *arg);
	void *gone_arg, *stop_arg;
	uint64_t since_ms, told_ms, sent_bytes;
	struct outstanding_part owed; /* bytes of a long response, counted for its caller */
	bool is_events;		      /* the stream consists of server-sent events */
	char note[HTTP_NOTE_BYTES], method[16], path[HTTP_NOTE_BYTES];
};

enum { HTTP_CALLERS = 256 };

/* A caller's entry in the schedule: its last turn, and the end of its pause; see schedule.c. */
struct http_served {
	uint64_t order, rests_until_ns;
	unsigned n_reading; /* number of its bodies that another thread is parsing */
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
	unsigned n_given, n_closed; /* counts of inherited and of closed listeners; the list is
				       sorted accordingly */
	struct http_connection *connections;
	struct http_exchange *exchanges;
	struct lingerers lingerers;
	size_t bodies_bytes;
	struct http_exchange *waiting; /* exchanges that wait for their turn: schedule.c */
	uint64_t turn_ns, n_served;
	struct http_served served[HTTP_CALLERS];
	bool is_draining, is_closing;
	bool is_due; /* the library has to run at once */
	void (*closed)(void *arg);
	void *arg;
};

/* Count an event of the server for /metrics. */
void http_count(const struct http_server *s, enum metrics_of what, int64_t by);

/* Admit the request, or respond with an error. Returns: 0, or -1. */
int http_check(struct http_exchange *x);

/* Let the library continue with the request; called from the loop. http_suspend(): stop the library
 * until then. */
void http_resume(struct http_exchange *x);
void http_suspend(struct http_exchange *x);

/* Begin a turn of the loop. http_schedule(): start the request of @x now, or at the caller's turn.
 */
void http_schedule_begin(struct http_server *s);
void http_schedule(struct http_exchange *x);

/* Send a response whose text is allocated. Owns: takes @body. NULL: out of memory. */
void http_answer_text(
	struct http_exchange *x, unsigned status, const char *type, char *body, size_t bytes);

/* Append @text to a stream, whose buffer may take over its memory. Returns: as http_stream_put().
 */
int http_stream_add(struct http_exchange *x, struct buf *text);

/* Pass the response to the library; called once. */
enum MHD_Result http_queue(struct http_exchange *x);

/* Send a comment after HTTP_BEAT_MS without output: proxies close silent connections. */
void http_stream_beat(struct http_exchange *x, uint64_t now_ms);

/* Notify the handler that the client has disconnected. */
void http_lose(struct http_exchange *x);

/* Free the exchange once neither owner holds it. */
void http_release(struct http_exchange *x);
