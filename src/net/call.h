/* One request and its answer, as libcurl sees it. What net/client.c and net/call.c share.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "net/client.h"
#include "net/curl.h"

struct net {
	struct curl curl;
	uv_loop_t *loop;
	CURLM *multi;
	uv_timer_t timer, kick;
	struct net_call *calls; /* a list */
	int n_handles;
	bool is_closing;
};

struct net_call {
	struct net_call *next;
	struct net *net;
	struct net_request request; /* numbers and callbacks only; the texts are libcurl's */
	char host[256];		    /* for messages */
	CURL *easy;
	struct curl_slist *headers;
	struct buf answer_headers;
	uint64_t answer_bytes;
	uint64_t last_ms; /* time of the last byte received or sent */
	curl_off_t moved_bytes;
	uv_timer_t idle;
	struct err err; /* why we ended the call; code ERR_NONE: we did not */
	bool is_added, is_cancelled, is_headed;
	char said[CURL_ERROR_SIZE]; /* by libcurl */
};

/* Check @request and prepare it. Errors: as net_start(). */
int call_new(
	struct net_call **out, struct net *n, const struct net_request *request, struct err *err);

/* Fill in the result of the call from libcurl's @code. */
void call_judge(const struct net_call *c, CURLcode code, struct net_result *out);

/* Free libcurl's objects. */
void call_free(struct net_call *c);
