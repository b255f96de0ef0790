/* What the kinds of wires share: one question under way. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/recording.h"
#include "agent/wire/wire.h"

/* How a kind of wire asks. */
struct wire_kind {
	/* Write @q as `body`; @q is gone afterwards. Returns: 0, or negative errno. */
	int (*prepare)(struct wire_call *c, const struct wire_request *q, struct err *err);
	/* Begin one try; call_over() ends it, now or later. */
	void (*start)(struct wire_call *c);
	/* Abort the current try. May be called from within its callbacks. */
	void (*stop)(struct wire_call *c);
	/* Free `own`, with the call. */
	void (*release)(struct wire_call *c);
};

extern const struct wire_kind wire_http, wire_exec, wire_replay;

struct wire {
	uv_loop_t *loop;
	const struct wire_kind *kind;
	struct model model;
	struct key key;
	struct net *net;	    /* http */
	struct recording recording; /* replay */
	struct wire_config config;
	char name[MODEL_NAME_BYTES + 64];
	char agent_headers[4096]; /* more headers, a line each */
	struct wire_call *calls;  /* a list */
	int n_refs;		  /* one for itself, one for each call */
	bool is_closing;
};

struct wire_call {
	struct wire_call *next;
	struct wire *wire;
	struct wire_watch watch;
	char *body; /* what is sent */
	size_t body_bytes;
	struct reduction reduction;
	struct retry retry;
	uv_timer_t timer; /* the wire's until a try begins and between tries; else the kind's own */
	int n_handles;
	bool is_ended; /* the caller is not told anything any more */
	bool is_trying;
	void *own; /* the kind's */
};

/* A try is over. @why NULL: the reduction decides whether the reply is good. Either another try
 * follows, or the caller is told, and the call may be gone afterwards. */
void call_over(struct wire_call *c, const struct failure *why);

/* Count a handle of the kind's own, which keeps the call alive. */
void call_hold(struct wire_call *c);
void call_let_go(struct wire_call *c);

/* Read the recording that the wire names. Errors: those of recorded_parse(); ERR_NOT_FOUND,
 * ERR_ACCESS. */
int replay_open(struct wire *w, struct err *err);
