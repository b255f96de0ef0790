/*
 * The head of the first request of an HTTP client, as far as it tells whom the client wants. Pure.
 *
 * It says nothing about the requests that follow on the same connection.
 *
 * Source: RFC 9112 (2, 3, 5), RFC 9110 (7.2), RFC 9113 (3.4).
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/rule/rule.h"

#include <stddef.h>
#include <stdint.h>

/* With so many bytes request_head_read() never says REQUEST_HEAD_MORE. */
enum { REQUEST_HEAD_BYTES = 16384 };

enum request_head_verdict {
	REQUEST_HEAD_MORE,  /* more bytes are needed */
	REQUEST_HEAD_HTTP1, /* a whole head of HTTP/1.0 or HTTP/1.1 */
	REQUEST_HEAD_HTTP2, /* the preface of HTTP/2 without TLS */
	/* No server would take it for HTTP, but for HTTP/0.9 without a host. */
	REQUEST_HEAD_NOT_HTTP,
	/* HTTP that is malformed, or that two readers may understand in two ways: Host is there
	 * twice, empty, or missing in HTTP/1.1; Host and target name different hosts; HTTP/0.9 with
	 * a host; CONNECT; a user in an address; a folded line, a space before a colon, a line that
	 * does not end with CR LF, a control character; a head longer than REQUEST_HEAD_BYTES. */
	REQUEST_HEAD_BAD
};

struct request_head {
	/* The host: a name as rule_name() makes it, or an address as ip_write() writes it; "" if
	 * HTTP/1.0 names none. */
	char host[RULE_HOST_BYTES];
	uint16_t port; /* as named beside the host; 0: none is */
	size_t bytes;  /* of the head, with its empty line */
};

/*
 * Look at the first @bytes that a client has sent; call it again with more when there are more. A
 * verdict other than REQUEST_HEAD_MORE does not change by further bytes, and does not depend on how
 * they came in pieces. @out is set with REQUEST_HEAD_HTTP1 only.
 */
enum request_head_verdict request_head_read(
	struct request_head *out, const uint8_t *data, size_t bytes);
