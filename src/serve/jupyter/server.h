/* What the files of the front "jupyter" share: the REST API of Jupyter Server, and its WebSockets.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/json.h"
#include "serve/front/wire.h"
#include "serve/jupyter/kernel.h"

enum {
	SERVER_ID_BYTES = 37,	   /* 8-4-4-4-12 hexadecimal digits */
	SERVER_CLIENT_BYTES = 129, /* the session id of a client */
	SERVER_STATE_BYTES = 16,
	SERVER_DATE_BYTES = 40,
	SERVER_PATH_BYTES = 4096,
	SERVER_SESSION_BYTES = SERVER_ID_BYTES + 8
};

struct server_channel;

/* A language, as it is offered to clients. */
struct server_spec {
	const char *name, *shown, *language, *runtime;
};

/* The phases of a kernel. Those of whom a client may know are SERVER_LIVE and SERVER_RESTARTING. */
enum server_phase { SERVER_MAKING, SERVER_LIVE, SERVER_RESTARTING, SERVER_ENDING };

/* Messages for a client that has lost its connection, oldest first. */
struct server_kept {
	char client[SERVER_CLIENT_BYTES]; /* whom they are for; "": nobody, so there are none */
	json_t *messages;		  /* of arrays: channel, then the four parts */
	size_t bytes, n_lost;
};

/* A kernel, from the request for it until its session is closed. */
struct server_kernel {
	struct server_kernel *next;
	struct server *server;
	const struct operation_context *context; /* with the principal whose kernel it is */
	const struct server_spec *spec;
	char id[SERVER_ID_BYTES];
	char session[SERVER_SESSION_BYTES]; /* name of the session in whose box it runs */
	json_t *create;			    /* parameters of session.create */
	struct kernel *kernel;		    /* NULL while there is none */
	enum server_phase phase;
	bool is_known, is_created, has_failed; /* is_created: `made` was called */
	struct err err;			       /* why it has failed */
	/* The request that waits for the kernel, or for its end; or NULL. */
	struct front_call *caller;
	void (*started)(struct front_call *c, struct server_kernel *k, const struct err *err);
	struct server_channel *channels;
	unsigned n_channels;
	struct server_kept kept;
	char state[SERVER_STATE_BYTES], date[SERVER_DATE_BYTES]; /* of the last message */
	uint64_t used_ms;
	struct operation_call *closing;
};

/* A session of a client: a name for a kernel. */
struct server_session {
	struct server_session *next;
	struct server_kernel *kernel;
	char id[SERVER_ID_BYTES];
	json_t *path, *name, *type; /* texts */
};

/* All kernels and sessions. It is the wire's `own` state. */
struct server {
	struct server_kernel *kernels;
	struct server_session *sessions;
	unsigned n_kernels;
	uint64_t idle_ms;
	char started[SERVER_DATE_BYTES];
	uv_timer_t idle;
	bool is_closing, is_closed; /* the timer is; both at the engine's end */
};

/* ---- server.c ---- */

/* Answer with an error as Jupyter Server writes it. */
void server_refuse(struct front_call *c, unsigned status, const char *message);
/* Return the part of the request's path behind the directory @dir, such as "/api/kernels/", without
 * its escapes, and without a "/" at its end. Returns: false if it is too long, or not a text. */
bool server_read_path(const struct front_call *c, const char *dir, char out[SERVER_PATH_BYTES]);
/* Add the header Location: @dir and @id, below the path of the front. */
void server_set_location(const struct front_call *c, const char *dir, const char *id);
/* Return the language called @name, NULL if there is none; "" is the first one. */
const struct server_spec *server_find_spec(const char *name);
/* Make a name for a kernel or a session. */
void server_make_id(char out[SERVER_ID_BYTES]);

/* ---- server_kernels.c ---- */

/* Return the state, made for the first request. */
struct server *server_of(const struct front_call *c);
/* As `stop` of struct front_wire. */
bool server_stop(struct front_state *state);

/* Return a kernel of the caller by its id, of @bytes bytes; NULL: the caller has no such kernel. */
struct server_kernel *server_find_kernel(const struct front_call *c, const char *id, size_t bytes);
/* Make a kernel for a request. @started is called once, and must end the call: @k NULL: see @err.
 */
void server_make_kernel(struct front_call *c, const struct server_spec *spec,
	void (*started)(struct front_call *c, struct server_kernel *k, const struct err *err));
/* End a kernel. @c: answered with status 204 when all is over; or NULL. */
void server_end_kernel(struct server_kernel *k, struct front_call *c);
/* Owns: the caller decrefs. */
json_t *server_kernel_json(const struct server_kernel *k);

/* Handlers of routes. */
void server_start_kernels(struct front_call *c);
void server_start_new_kernel(struct front_call *c);
void server_start_kernel(struct front_call *c);
void server_start_kernel_action(struct front_call *c);
void server_start_kernel_end(struct front_call *c);

/* ---- server_channels.c ---- */

/* Open a WebSocket at a kernel. */
void server_open_channel(struct front_call *c, struct server_kernel *k);
/* Send a message of the kernel, as `send` of struct kernel_config. */
void server_send(struct server_kernel *k, enum jupyter_channel channel,
	const struct jupyter_route *to, const json_t *const parts[SIGNED_PARTS]);
/* Read nothing from the clients while @is_paused. */
void server_pause_channels(const struct server_kernel *k, bool is_paused);
/* Close all WebSockets of a kernel. */
void server_close_channels(struct server_kernel *k);
/* Forget messages that were kept. */
void server_forget_kept(struct server_kept *kept);

/* ---- server_sessions.c ---- */

/* Handlers of routes. */
void server_start_sessions(struct front_call *c);
void server_start_new_session(struct front_call *c);
void server_start_session(struct front_call *c);
void server_start_session_change(struct front_call *c);
void server_start_session_end(struct front_call *c);
/* Forget the sessions of a kernel. */
void server_forget_sessions(struct server *s, const struct server_kernel *k);

/* ---- server_contents.c ---- */

/* Handlers of routes. */
void server_start_contents(struct front_call *c);
void server_start_contents_put(struct front_call *c);
void server_start_contents_end(struct front_call *c);

/* ---- server_login.c ---- */

/* Name of the cookie that has the token. Handlers of routes. */
#define SERVER_COOKIE "jupyter-token"
void server_start_login_page(struct front_call *c);
void server_start_login(struct front_call *c);
