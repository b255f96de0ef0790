/*
 * The first message of a TLS client, as far as it tells whom the client wants. Pure.
 *
 * Source: RFC 8446 (5.1, 4.1.2), RFC 6066 (3), RFC 9849 (ECH).
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/rule/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HELLO_RECORDS_MAX = 64,	  /* over which a hello may be spread */
	HELLO_BODY_BYTES = 16384, /* its own length, at most */
	/* With so many bytes hello_read() never says HELLO_MORE. */
	HELLO_BYTES = HELLO_RECORDS_MAX * 5 + 4 + HELLO_BODY_BYTES
};

enum hello_verdict {
	HELLO_MORE,    /* more bytes are needed */
	HELLO_TLS,     /* a whole hello */
	HELLO_NOT_TLS, /* no server would take it for TLS */
	/* TLS that is malformed, or that two readers may understand in two ways: the name is no
	 * name of a host or there twice, a hello is of SSL 2 or longer than HELLO_BODY_BYTES, a
	 * record of another type or an empty one comes first, something follows in the record of
	 * the hello. */
	HELLO_BAD
};

struct hello {
	char host[RULE_HOST_BYTES]; /* of SNI, as rule_name() makes it; "" if there is none */
	/* The client offers an encrypted hello, which may name another host; browsers send a false
	 * one as well. `host` is what can be read by all. */
	bool has_ech;
};

/*
 * Look at the first @bytes that a client has sent; call it again with more when there are more. A
 * verdict other than HELLO_MORE does not change by further bytes, and does not depend on how they
 * came in pieces. @out is set with HELLO_TLS only.
 */
enum hello_verdict hello_read(struct hello *out, const uint8_t *data, size_t bytes);
