/*
 * An exchange: one request of a program, and its response.
 *
 *     CHECKING    against the rules; what is refused is answered at once
 *     LOOKING UP  the name (lookup.h)
 *     ASKING      libcurl sends the request anew, as it was read, to an address
 *                 that the rule allows, with values in the place of placeholders
 *     ANSWERING   the response passes, with values blotted out
 *
 * Bodies pass in pieces. But the response is passed on only when the whole request has come: a
 * server that sends more than EXCHANGE_BYTES before it reads on is given up (ask_tick()).
 *
 * A body that may have placeholders (secret.h) is collected before the request is sent, since its
 * length changes. It may be twice as long with its values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "gateway/process/lookup.h"
#include "gateway/process/swap.h"
#include "gateway/process/web.h"
#include "net/client.h"

/* Of a body in each direction, so much is kept; of one with placeholders, EXCHANGE_WHOLE_BYTES may
 * come. */
enum {
	EXCHANGE_BYTES = 128 << 10,
	EXCHANGE_WHOLE_BYTES = 1 << 20,
	EXCHANGE_COLLECTED_MAX = 16 /* at a time, of a box */
};

struct exchange {
	struct web_client *client;
	char method[RULE_METHOD_BYTES];
	char *target; /* as the program wrote it */
	bool is_websocket;
	/* Refused or failed: `text` and `status` are the answer. Otherwise `response` is it, once
	 * it has begun. */
	bool is_refused, is_answered;
	unsigned status;
	struct buf text;
	struct MHD_Response *response;
	bool is_suspended;
	/* the request's body: what came and was not sent yet */
	struct buf up;
	size_t up_at;
	int64_t up_bytes; /* its length; -1: only its end will tell */
	bool is_up_over, is_collected;
	/* the response's body */
	struct buf down;
	size_t down_at;
	bool is_down_over, is_broken;
	unsigned n_ticks;  /* since the last piece of a body */
	bool is_down_full; /* libcurl waits until there is room */
	/* secrets of this host whose values are known, and the reference that keeps them */
	struct held_secrets *secrets;
	struct swap swaps[SECRETS_MAX], body_swaps[SECRETS_MAX];
	size_t n_swaps, n_body_swaps;
	struct blot *blot; /* NULL: there is nothing to blot out */
	/* ask.c */
	struct lookup_waiter waiter;
	struct net_call *call;
	struct upstream *upstream; /* counted reference, of @call */
	struct rule dialled;
	bool is_counted;  /* as allowed */
	bool is_repeated; /* the request was sent again */
	uint64_t bytes_in, bytes_out;
	struct tunnel *tunnel; /* NULL: none */
};

/* Callbacks of the library. */
enum MHD_Result exchange_on_request(void *arg, struct MHD_Connection *mhd, const char *url,
	const char *method, const char *version, const char *data, size_t *bytes, void **slot);
void exchange_on_completed(
	void *arg, struct MHD_Connection *mhd, void **slot, enum MHD_RequestTerminationCode how);

/* Drop @n bytes behind *@at, which is how much of @b was dropped before. */
void exchange_drop(struct buf *b, size_t *at, size_t n);
/* Return the library; return the first header @name of the request, or NULL. */
const struct microhttpd *exchange_library(const struct exchange *x);
const char *exchange_header(const struct exchange *x, const char *name);
/* Suspend the request in the library, or have the library go on with it. */
void exchange_suspend(struct exchange *x);
void exchange_resume(struct exchange *x);
/* Answer with @status and a sentence, and note a row with @reason. @advice: what may help, or "".
 */
void exchange_refuse(struct exchange *x, unsigned status, enum gateway_verdict verdict,
	const char *reason, const char *advice);

/* Return whether the program has closed its connection while the request waits. */
bool exchange_is_left(const struct exchange *x);
/* Return whether the rules allow the request, now that they may have changed. */
bool exchange_is_allowed(const struct exchange *x);
/* End an exchange whose connection is being ended. */
void exchange_abandon(struct exchange *x);
