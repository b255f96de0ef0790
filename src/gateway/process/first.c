/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/first.h"

#include <stdio.h>
#include <string.h>

static enum first_verdict refuse(char reason[GATEWAY_REASON_BYTES], const char *why)
{
	snprintf(reason, GATEWAY_REASON_BYTES, "%s", why);
	return FIRST_REFUSE;
}

/* Compare the name @got, which the client gave in @wire, with @host. */
static enum first_verdict compare(
	const char *host, const char *got, const char *wire, char reason[GATEWAY_REASON_BYTES])
{
	enum { SHOWN = 100 };
	if (strcmp(host, got) == 0)
		return FIRST_PASS;
	if (got[0] == '\0')
		snprintf(reason, GATEWAY_REASON_BYTES,
			"%s without a name: nothing tells whom it is for", wire);
	else
		snprintf(reason, GATEWAY_REASON_BYTES, "%s for another name (%.*s)", wire, SHOWN,
			got);
	return FIRST_REFUSE;
}

static enum first_verdict read_http(
	const char *host, const uint8_t *data, size_t bytes, char reason[GATEWAY_REASON_BYTES])
{
	struct request_head head;
	switch (request_head_read(&head, data, bytes)) {
	case REQUEST_HEAD_MORE:
		return bytes > 0 && !memchr(data, '\n', bytes) ? FIRST_UNSURE : FIRST_MORE;
	case REQUEST_HEAD_HTTP1:
		return compare(host, head.host, "HTTP", reason);
	case REQUEST_HEAD_HTTP2:
		return refuse(reason, "HTTP/2 without TLS, which may be for several names");
	case REQUEST_HEAD_BAD:
		return refuse(reason, "HTTP that is malformed, or can be read in two ways");
	case REQUEST_HEAD_NOT_HTTP:
		break;
	}
	return FIRST_PASS;
}

enum first_verdict first_read(
	const char *host, const uint8_t *data, size_t bytes, char reason[GATEWAY_REASON_BYTES])
{
	struct hello hello;
	switch (hello_read(&hello, data, bytes)) {
	case HELLO_MORE:
		return FIRST_MORE;
	case HELLO_TLS:
		return compare(host, hello.host, "TLS", reason);
	case HELLO_BAD:
		return refuse(reason, "TLS that is malformed, or can be read in two ways");
	case HELLO_NOT_TLS:
		break;
	}
	return read_http(host, data, bytes, reason);
}
