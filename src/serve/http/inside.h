/* One request from the inside: shared by the files that serve HTTP. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/operation/metrics.h"
#include "api/operation/outstanding.h"
#include "base/work.h"
#include "serve/http/address.h"
#include "serve/http/linger.h"
#include "serve/http/microhttpd.h"
#include "serve/http/server.h"

enum { HTTP_CHECK_MS = 500, HTTP_PART_BYTES = 64 << 10, HTTP_BEAT_MS = 15000 };

/* What a client is at. */
enum http_phase {
	HTTP_WAITING, /* a request is to begin, or its head is on its way */
	HTTP_READING, /* its body */
	HTTP_BUSY,    /* it is being answered */
};

struct http_connection {
	struct http_connection *next, **link;
	struct http_server *server;
	struct MHD_Connection *mhd;
	struct http_exchange *x; /* the request it is at */
	int fd;			 /* borrowed from the library */
	struct address peer;
	enum http_phase phase;
	bool is_surplus, has_begun; /* the head: something of it is there */
	bool is_proven;	  /* it has brought a token; or, where none is asked for, a request */
	bool is_given_up; /* for another one that had no place */
	bool has_left;	  /* it has said its last, and that was so at the last look, too */
	uint64_t since_ms, heard_bytes;
};

/*
 * Held by two: the library, until the request is over, and who answers it. `connection` and
 * `is_held` say which of them do.
 */
struct http_exchange {
	struct http_exchange *next, **link; /* all of a server */
	struct http_exchange *next_waiting;
	struct http_server *server;	    /* NULL: it has been closed */
	struct http_connection *connection; /* NULL: the client is gone */
	const struct http_route *route;
	const struct operation_context *context;
	struct buf body, out;
	json_t *json; /* the body, when `is_read`; or NULL, and the error */
	struct err json_err;
	int json_status;
	struct work reading;
	bool is_read;
	size_t out_at;
	struct MHD_Response *response;
	unsigned status, n_set;
	char *set[2 * HTTP_SET_MAX]; /* name, value, … */
	bool is_held;		     /* somebody is to answer it */
	bool has_token;
	bool is_suspended, is_gone;
	void (*gone)(void *arg);
	void (*stop)(void *arg);
	void *gone_arg, *stop_arg;
	uint64_t since_ms, told_ms, sent_bytes;
	struct outstanding_part owed; /* a long answer, as counted of its caller */
	bool is_events;		      /* server-sent events */
	char note[HTTP_NOTE_BYTES], method[16], path[HTTP_NOTE_BYTES];
};

enum { HTTP_CALLERS = 256 };

/* A caller: when he was served last, and when he may be served next; schedule.c. */
struct http_served {
	uint64_t order, rests_until_ns;
	unsigned n_reading; /* bodies of his that are parsed in another thread */
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
	unsigned n_given, n_closed; /* of the listeners, the first ones */
	struct http_connection *connections;
	struct http_exchange *exchanges;
	struct lingerers lingerers;
	size_t bodies_bytes;
	struct http_exchange *waiting; /* for their turn: schedule.c */
	uint64_t turn_ns, n_served;
	struct http_served served[HTTP_CALLERS];
	bool is_draining, is_closing;
	bool is_due; /* the library has something to do at once */
	void (*closed)(void *arg);
	void *arg;
};

/* Count something of the server's for /metrics. */
void http_count(const struct http_server *s, enum metrics_of what, int64_t by);

/* Is it to be let in? It is answered if not. Returns: 0, or -1. */
int http_check(struct http_exchange *x);

/* Have the library go on with it, from the loop. */
void http_resume(struct http_exchange *x);
void http_suspend(struct http_exchange *x);

/* schedule.c: a turn of the loop begins; the request of @x is begun in this one, or in its own. */
void http_schedule_begin(struct http_server *s);
void http_schedule(struct http_exchange *x);

/* http_answer() with a text that was allocated. Owns: takes @body. NULL: without memory. */
void http_answer_text(
	struct http_exchange *x, unsigned status, const char *type, char *body, size_t bytes);

/* Append @text to a stream; it may be taken over. Returns: as http_stream_put(). */
int http_stream_add(struct http_exchange *x, struct buf *text);

/* Hand its answer to the library, once. */
enum MHD_Result http_queue(struct http_exchange *x);

/* Say something when nothing was said for HTTP_BEAT_MS: proxies take silence for an end. */
void http_stream_beat(struct http_exchange *x, uint64_t now_ms);

/* The client is gone: tell who answers. */
void http_lose(struct http_exchange *x);

/* One of the two lets go. */
void http_release(struct http_exchange *x);
