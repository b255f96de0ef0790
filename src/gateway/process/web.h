/*
 * The end of HTTP: connections of boxes of whose hosts only requests are allowed.
 *
 * TLS ends here, with a certificate that the engine's authority has signed. libmicrohttpd reads the
 * requests; exchange.h decides about each, and has libcurl send it anew.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/process/inside.h"
#include "net/microhttpd.h"

enum {
	WEB_FIRST_MS = 10000, /* until the first byte of a connection; until its first request */
	WEB_HEAD_BYTES = 64 << 10 /* memory of a connection for the heads of its requests */
};

struct web;
struct exchange;
struct leaf;
struct tunnel;

/* A connection of a program. */
struct web_client {
	struct net_box *box;
	struct web_client *next, **at; /* at: what points to this one */
	struct name *name;
	uint16_t port;
	bool is_tls;
	int fd; /* the library closes it */
	struct MHD_Connection *mhd;
	struct leaf *leaf; /* its certificate; NULL: none yet */
	char *target;	   /* of the current request, as it came */
	struct exchange *exchange;
	unsigned n_requests;
	bool is_ended;	   /* it was hung up */
	uint64_t since_ms; /* when the library got it */
	bool is_closing;   /* its WebSocket has ended */
	/* until the library has it: it is watched for its first byte */
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned n_handles;
	bool is_watched;
};

/* Return the library, for exchange.c. */
const struct microhttpd *web_library(const struct web *w);
/* Note that the library has got on with something; that there is one WebSocket more, or less. */
void web_progress(struct web *w);
void web_tunnels(struct web_client *c, int by);
/* Have the library run soon. */
void web_kick(struct web_client *c);
/* Have the library go on with the client's request. */
void web_resume(struct web_client *c);
/* End the connection of a client, whatever it does. */
void web_hang_up(struct web_client *c);
