/* What the kinds of wires share: one question under way. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/recording.h"
#include "agent/wire/wire.h"

/* How a kind of wire asks. */
struct wire_kind {
	/* Keep of @q what is needed to ask, as `body`. Returns: 0, or negative errno. */
	int (*prepare)(struct wire_call *c, const struct wire_request *q, struct err *err);
	/* One try; call_over() ends it, now or later. */
	void (*start)(struct wire_call *c);
	/* Nothing more is wanted of the try under way. May come from within its callbacks. */
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
	int n_refs;		  /* itself and its calls */
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
	uv_timer_t timer; /* until the first or the next try, then the kind's own */
	int n_handles;
	bool is_ended; /* nothing is heard any more */
	bool is_trying;
	void *own; /* the kind's */
};

/*
 * The try is over. @why NULL: the reduction is to say. It is tried again, or the caller hears of
 * it; the call may be gone afterwards.
 */
void call_over(struct wire_call *c, const struct failure *why);

/* For handles of the kind's own, which hold the call. */
void call_hold(struct wire_call *c);
void call_let_go(struct wire_call *c);

/* Read the recording that the wire names. Errors: those of recorded_parse(); ERR_NOT_FOUND,
 * ERR_ACCESS. */
int replay_open(struct wire *w, struct err *err);
