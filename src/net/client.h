/* An HTTP client on the loop: requests are sent whole, responses arrive in pieces.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct net;
struct net_call; /* one request and its answer */

enum { NET_HEADERS_MAX = 64, NET_HEADER_BYTES = 64 << 10, NET_URL_BYTES = 8192 };

struct net_header {
	const char *name, *value;
};

enum net_end {
	NET_ANSWER,    /* the response is complete, whatever its status */
	NET_NO_SERVER, /* no connection could be made */
	NET_UNTRUSTED, /* the server's certificate was not accepted */
	NET_CUT,       /* the connection ended before the response did */
	NET_TIMEOUT,
	NET_STOPPED, /* ended by on_data, or by a limit of ours */
};

struct net_result {
	enum net_end end;
	int status;	/* HTTP status; 0: there was no response */
	struct err err; /* set unless the outcome is NET_ANSWER */
};

struct net_request {
	const char *method; /* NULL: GET, or POST with a body */
	const char *url;    /* http or https */
	const struct net_header *headers;
	size_t n_headers;
	const char *body; /* NULL: the request has no body */
	size_t body_bytes;
	uint64_t answer_max_bytes;		/* the most of the response's body */
	uint64_t connect_ms, idle_ms, whole_ms; /* 0: no limit */
	void *arg;
	void (*on_headers)(void *arg); /* called once, before the body; or NULL */
	/* Called with a piece of the response's body. Returns: 0; otherwise the call ends with
	 * ERR_INTERRUPTED. */
	int (*on_data)(void *arg, const char *data, size_t bytes);
	/* Called once, at the end, unless the call was cancelled. */
	void (*on_done)(void *arg, const struct net_result *result);
};

/* Owns: net_close(). Errors: ERR_NOT_FOUND with a hint, without libcurl; ERR_NO_MEMORY. */
int net_open(struct net **out, uv_loop_t *loop, struct err *err);

/* Cancel all calls. The memory is freed when the loop has closed the handles. */
void net_close(struct net *n);

/*
 * Start a request. All of @request is copied.
 *
 * Certificates are always verified; SSL_CERT_FILE or CURL_CA_BUNDLE name other authorities.
 * Proxies are those of the environment (HTTPS_PROXY, http_proxy, ALL_PROXY, NO_PROXY).
 * Redirections are not followed: a request may carry secrets for the server that it names.
 *
 * Limits:  NET_HEADERS_MAX headers, URLs of NET_URL_BYTES; of the answer, headers of
 *          NET_HEADER_BYTES and @answer_max_bytes.
 * Owns:    the client; *@out is valid until on_done has returned or it was cancelled.
 * Errors:  ERR_USAGE: a header or the URL is malformed; ERR_NO_MEMORY. In the result:
 *          ERR_UNREACHABLE, ERR_LIMIT, ERR_INTERRUPTED, ERR_NO_MEMORY.
 */
int net_start(
	struct net *n, const struct net_request *request, struct net_call **out, struct err *err);

/* Cancel a call: its callbacks are not called any more. May be called in callbacks, also those of
 * the same call. */
void net_cancel(struct net_call *call);

/* The response, for callbacks: its status. */
int net_status(const struct net_call *call);
/* Copy the first header of that name. Returns: false when it is missing or @out is too small. */
bool net_header(const struct net_call *call, const char *name, char *out, size_t out_bytes);
