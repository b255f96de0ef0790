/* Declarations shared by the kinds of wires: HTTP, a program, a recording.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/recording.h"
#include "agent/wire/wire.h"

/* The functions of one kind of wire. */
struct wire_kind {
	/* Write the request @q to `body`. @q is valid only during this call. Returns: 0, or
	 * negative errno. */
	int (*prepare)(struct wire_call *c, const struct wire_request *q, struct err *err);
	/* Send the request; this is one try. When the try ends, which may be before this
	 * function returns, call call_over(). */
	void (*start)(struct wire_call *c);
	/* Abort the current try. May be called from callbacks of this try. */
	void (*stop)(struct wire_call *c);
	/* Free c->own, which may be NULL. Called just before @c itself is freed. */
	void (*release)(struct wire_call *c);
};

extern const struct wire_kind wire_http, wire_exec, wire_replay;

struct wire {
	uv_loop_t *loop;
	const struct wire_kind *kind;
	struct model model;
	struct key key;
	struct net *net;	    /* for MODEL_HTTP */
	struct recording recording; /* for MODEL_REPLAY */
	struct wire_config config;
	char name[MODEL_NAME_BYTES + 64];
	struct wire_call *calls; /* list of all calls that have not ended */
	int n_refs;		 /* number of references: one of the owner, and one of each call */
	bool is_closing;
};

struct wire_call {
	struct wire_call *next;
	struct wire *wire;
	struct wire_watch watch;
	char *body; /* body of the request */
	size_t body_bytes;
	struct reduction reduction;
	struct retry retry;
	/* Between tries, wire.c uses the timer. During a try, the kind of wire may use it. */
	uv_timer_t timer;
	int n_handles;
	bool is_ended; /* the caller gets no more callbacks */
	bool is_trying;
	void *own; /* data that belongs to the kind of wire */
};

/* End a try. @why is the failure. If it is NULL, the reduction decides whether the reply is
 * complete. After a failure, another try may be started later. Otherwise the caller's `done` is
 * called, and @c is freed when all of its handles are closed. */
void call_over(struct wire_call *c, const struct failure *why);

/* A call is freed when all uv handles that refer to it are closed. Call call_hold() for each
 * handle that refers to it, and call_let_go() when that handle is closed. */
void call_hold(struct wire_call *c);
void call_let_go(struct wire_call *c);

/* Read the recording that acts as the model. Errors: those of file_load() and recorded_parse(). */
int replay_open(struct wire *w, struct err *err);
