/* A request and its response, in terms of libcurl. Shared by net/client.c and net/call.c.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "net/client.h"
#include "net/curl.h"

struct net {
	struct curl curl;
	uv_loop_t *loop;
	CURLM *multi;
	uv_timer_t timer, kick;
	uv_idle_t soon;		/* in place of a timer of 0 ms */
	struct net_call *calls; /* linked list */
	int n_handles;
	bool is_closing;
};

struct net_call {
	struct net_call *next;
	struct net *net;
	/* The numbers and callbacks of the request. Its texts are NULL here, because libcurl has
	 * copied them. */
	struct net_request request;
	char host[256]; /* host and port, for messages */
	CURL *easy;
	struct curl_slist *headers;
	struct buf answer_headers;
	uint64_t answer_bytes;
	uint64_t last_ms; /* time of the last byte received or sent, on timer_now()'s clock */
	curl_off_t moved_bytes;
	uv_timer_t idle;
	/* Why we ended the call, for example because the response exceeded a limit. Otherwise
	 * ERR_NONE. */
	struct err err;
	bool is_added, is_cancelled, is_headed;
	bool is_going_on; /* net_go_on() was called */
	/* The socket of a request over an existing connection. libcurl gets a copy, `fd_for_curl`.
	 * -1: there is none, or its new owner has it. */
	int fd, fd_for_curl;
	void (*on_upgrade)(void *arg, int fd, const char *early, size_t bytes);
	struct curl_slist *to;	    /* where to connect */
	bool is_paused;		    /* on_data has returned NET_WAIT */
	bool is_left;		    /* after a switch: the server has ended */
	bool is_switch;		    /* the request wants another protocol, see struct net_pass */
	bool is_upgraded;	    /* status 101 has been received */
	struct buf early;	    /* bytes behind it */
	char said[CURL_ERROR_SIZE]; /* libcurl's error message, or "" */
};

/* Callback of the timer `kick`: add, go on with and remove the calls that are noted for it. */
void client_kick(uv_timer_t *t);

/* Check @request and prepare it for libcurl. Errors: as net_start(). */
int call_new(
	struct net_call **out, struct net *n, const struct net_request *request, struct err *err);

/* Fill in the result of the call: from libcurl's @code, or from c->err if we ended the call. */
void call_judge(const struct net_call *c, CURLcode code, struct net_result *out);

/* Pass the connection, after status 101, to its new owner. */
void call_upgrade(struct net_call *c);

/* Free libcurl's objects, and close the socket. */
void call_free(struct net_call *c);
