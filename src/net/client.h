/* Requests of HTTP go whole, answers come in pieces. SPDX-License-Identifier: Apache-2.0 */
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
	NET_ANSWER,    /* the answer came to its end, whatever its status */
	NET_NO_SERVER, /* nobody answers there */
	NET_UNTRUSTED, /* its certificate is not good */
	NET_CUT,       /* the connection ended before the answer did */
	NET_TIMEOUT,
	NET_STOPPED, /* by on_data, or by a limit of ours */
};

struct net_result {
	enum net_end end;
	int status;	/* of HTTP; 0: no answer came */
	struct err err; /* when it is no NET_ANSWER */
};

struct net_request {
	const char *method; /* NULL: GET, or POST with a body */
	const char *url;    /* http or https */
	const struct net_header *headers;
	size_t n_headers;
	const char *body; /* NULL: none */
	size_t body_bytes;
	uint64_t answer_max_bytes;		/* of the body of the answer */
	uint64_t connect_ms, idle_ms, whole_ms; /* 0: no limit */
	void *arg;
	void (*on_headers)(void *arg); /* once, before the body; or NULL */
	/* A piece of the body of the answer. Not 0: no more, the call ends with ERR_INTERRUPTED. */
	int (*on_data)(void *arg, const char *data, size_t bytes);
	/* Once, at the end, unless it was cancelled. */
	void (*on_done)(void *arg, const struct net_result *result);
};

/* Owns: net_close(). Errors: ERR_NOT_FOUND with a hint, without libcurl; ERR_NO_MEMORY. */
int net_open(struct net **out, uv_loop_t *loop, struct err *err);

/* Cancel what is under way. The memory goes when the loop has closed its handles. */
void net_close(struct net *n);

/*
 * Start a request. All of @request is copied.
 *
 * Certificates are always verified; SSL_CERT_FILE or CURL_CA_BUNDLE name other authorities. Proxies
 * are those of the environment (HTTPS_PROXY, http_proxy, ALL_PROXY, NO_PROXY). Redirections are not
 * followed: what a request carries is for the server that it names.
 *
 * Limits:  NET_HEADERS_MAX headers, URLs of NET_URL_BYTES; of the answer, headers of
 *          NET_HEADER_BYTES and @answer_max_bytes.
 * Owns:    the client; *@out is valid until on_done has returned or it was cancelled.
 * Errors:  ERR_USAGE: a header or the URL is none; ERR_NO_MEMORY. In the result: ERR_UNREACHABLE,
 *          ERR_LIMIT, ERR_INTERRUPTED, ERR_NO_MEMORY.
 */
int net_start(
	struct net *n, const struct net_request *request, struct net_call **out, struct err *err);

/* Nothing is heard of it any more. May be called in callbacks, those of the same call included. */
void net_cancel(struct net_call *call);

/* Of the answer, in callbacks. */
int net_status(const struct net_call *call);
/* The first header of that name. Returns: false when there is none or @out is too small. */
bool net_header(const struct net_call *call, const char *name, char *out, size_t out_bytes);
