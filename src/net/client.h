/* An HTTP client on the loop: a request is sent from one text in memory or in pieces, and a
 * response arrives in pieces. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct net;
struct net_call; /* one request and its response */

enum {
	NET_HEADERS_MAX = 64,
	NET_HEADER_BYTES = 64 << 10,
	NET_URL_BYTES = 8192,
	NET_TO_BYTES = 512
};

struct net_header {
	const char *name, *value;
};

enum net_end {
	NET_ANSWER,    /* the response is complete, whatever its status */
	NET_NO_SERVER, /* no connection could be made */
	NET_UNTRUSTED, /* the server's certificate was not accepted */
	NET_CUT,       /* the connection ended before the response did */
	NET_TIMEOUT,
	/* This side ended the call: on_data refused data, the response exceeded a limit, the URL
	 * is malformed, or memory is exhausted. */
	NET_STOPPED,
};

struct net_result {
	enum net_end end;
	int status;	/* HTTP status; 0 if no response began */
	bool is_stale;	/* it went over a connection of an earlier request, which had ended */
	struct err err; /* set unless `end` is NET_ANSWER */
};

/* Returned by on_data and on_body: not now. The client asks again after net_go_on(). No errno has
 * this value. */
enum { NET_WAIT = -100000 };
enum { NET_EARLY_BYTES = 256 << 10 };

/*
 * A request that is passed on for a client of ours. It has no headers but its own, and no proxy is
 * used.
 *
 * @fd: a connected socket, which the client owns from net_start() on, also after an error; the
 * request is the only one on it. -1: the client connects, or takes a connection of an earlier
 * request of the same struct net.
 * @target: what the request line has in place of the URL's path: "/a?b=c".
 * @to: if @fd is -1: the addresses to connect to, "192.0.2.1,[2001:db8::1]"; nothing is looked up.
 * @to_port: another port than the URL's, with one address; or 0.
 * @on_upgrade: if @fd is a socket: called if the response has status 101, so the connection is not
 * HTTP any more. @fd is a socket, which the callee owns; @early are bytes that were received behind
 * the response, at most NET_EARLY_BYTES. The call has ended then, and on_done is not called. NULL:
 * status 101 is an error.
 * @is_switch: if @fd is -1: the request wants another protocol. If the response has status 101,
 * on_headers is called, and on_body and on_data are the two directions of what is not HTTP any
 * more; on_body is not called before.
 */
struct net_pass {
	int fd;
	const char *target;
	const char *to;
	uint16_t to_port;
	void (*on_upgrade)(void *arg, int fd, const char *early, size_t bytes);
	bool is_switch;
};

struct net_request {
	const struct net_pass *pass; /* NULL: the request is our own */
	bool is_direct;		     /* use no proxy, whatever the environment says */
	const char *method;	     /* NULL means POST if there is a body, otherwise GET */
	const char *url;	     /* http or https */
	const struct net_header *headers;
	size_t n_headers;
	const char *body; /* NULL if the request has no body */
	size_t body_bytes;
	/* Called for the next piece of a body that is sent in pieces; `body` is NULL then. Writes
	 * up to
	 * @max bytes to @data. Returns: how many; 0 at the end; NET_WAIT. NULL if there is no such
	 * body. */
	ssize_t (*on_body)(void *arg, char *data, size_t max);
	int64_t whole_bytes;	   /* length of that body; -1: not known, so it is sent in chunks */
	uint64_t answer_max_bytes; /* maximum size of the response's body */
	uint64_t connect_ms, idle_ms, whole_ms; /* 0: no limit */
	void *arg;
	void (*on_headers)(void *arg); /* called once, before the body; may be NULL */
	/* Called with each piece of the response's body. Returns: 0; NET_WAIT, and the piece is
	 * passed again; any other value ends the call with ERR_INTERRUPTED. */
	int (*on_data)(void *arg, const char *data, size_t bytes);
	/* Called once, when the call has ended, unless it was cancelled. */
	void (*on_done)(void *arg, const struct net_result *result);
};

/*
 * Open a client.
 * Owns: the caller ends *@out with net_close().
 * Errors: ERR_NOT_FOUND with a hint, if libcurl is missing; ERR_NO_MEMORY.
 */
int net_open(struct net **out, uv_loop_t *loop, struct err *err);

/* Return the file of certificate authorities that the environment names, or NULL. */
const char *net_authorities(void);

/* Keep at most @n connections for later requests. The default is libcurl's, which grows. */
void net_keep(struct net *n, unsigned n_kept);

/* Cancel all calls and close the client. Its memory is freed later, when the loop has closed its
 * handles. */
void net_close(struct net *n);

/*
 * Start a request. All of @request is copied.
 *
 * Certificates of servers are always verified. The environment variable CURL_CA_BUNDLE or
 * SSL_CERT_FILE may name a file of certificate authorities, which then replaces the host's file.
 * Proxies are taken from the environment (HTTPS_PROXY, http_proxy, ALL_PROXY, NO_PROXY).
 * Redirections are not followed, because a request may carry secrets that are meant for the named
 * server only.
 *
 * Limits:  NET_HEADERS_MAX headers, URLs of NET_URL_BYTES. In the response: NET_HEADER_BYTES of
 *          headers, and @answer_max_bytes of body.
 * Owns:    the client owns *@out. *@out is valid until on_done has returned or the call is
 *          cancelled.
 * Errors:  ERR_USAGE if a header or the URL is malformed; ERR_NO_MEMORY. The net_result may also
 *          have ERR_UNREACHABLE, ERR_USAGE, ERR_LIMIT, ERR_INTERRUPTED, ERR_NO_MEMORY.
 */
int net_start(
	struct net *n, const struct net_request *request, struct net_call **out, struct err *err);

/* Cancel a call. Its callbacks are not called any more. A callback may cancel any call, also its
 * own. */
void net_cancel(struct net_call *call);

/* Return the HTTP status of the response; for use in callbacks. */
int net_status(const struct net_call *call);
/* Copy the value of the response's first header @name. Returns: false when it is missing or @out
 * is too small. */
bool net_header(const struct net_call *call, const char *name, char *out, size_t out_bytes);

/* Ask a callback again that has returned NET_WAIT. */
void net_go_on(struct net_call *call);

/* Call @each with each header of the response, in the order of the response. */
void net_each_header(const struct net_call *call,
	void (*each)(void *arg, const char *name, const char *value), void *arg);
