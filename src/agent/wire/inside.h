/* Declarations shared by the kinds of wires: a wire, and a call under way. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/wire/recording.h"
#include "agent/wire/wire.h"

/* The functions of a kind of wire. */
struct wire_kind {
	/* Write @q to `body`; @q is invalid afterwards. Returns: 0, or negative errno. */
	int (*prepare)(struct wire_call *c, const struct wire_request *q, struct err *err);
	/* Start one try, which ends with call_over(), now or later. */
	void (*start)(struct wire_call *c);
	/* Abort the current try. May be called from callbacks of that try. */
	void (*stop)(struct wire_call *c);
	/* Free `own` when the call is freed. */
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
	struct wire_call *calls; /* list of all calls */
	int n_refs;		 /* reference count: one for the wire, one for each call */
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
	uv_timer_t timer; /* used by the wire before and between tries; by the kind during a try */
	int n_handles;
	bool is_ended; /* the caller receives no more callbacks */
	bool is_trying;
	void *own; /* data of the kind */
};

/* End a try. @why NULL: the reduction decides whether the reply is good. Either another try
 * follows, or the caller is notified, after which the call may no longer exist. */
void call_over(struct wire_call *c, const struct failure *why);

/* Count a handle of the kind, which keeps the call alive; call_let_go() uncounts it. */
void call_hold(struct wire_call *c);
void call_let_go(struct wire_call *c);

/* Read the recording that the wire's config names. Errors: those of recorded_parse();
 * ERR_NOT_FOUND, ERR_ACCESS. */
int replay_open(struct wire *w, struct err *err);
