/* What the first bytes of a client say about whom it wants. Pure. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "gateway/gateway.h"
#include "gateway/process/hello.h"
#include "gateway/process/request_head.h"

/* With so many bytes first_read() never says FIRST_MORE or FIRST_UNSURE. */
enum { FIRST_BYTES = HELLO_BYTES };
_Static_assert((int)FIRST_BYTES >= (int)REQUEST_HEAD_BYTES, "the longer of the two");

/*
 * MORE    It is TLS or HTTP, or may be, and must be held until there is more.
 * UNSURE  As MORE, but it has no whole line, so no server can have understood it as HTTP. The
 * client of another protocol may say no more before it gets an answer.
 */
enum first_verdict { FIRST_MORE, FIRST_UNSURE, FIRST_PASS, FIRST_REFUSE };

/*
 * Many names lead to the same server, which goes by the name that the client gives it in TLS or
 * HTTP. So this name must be @host, for which a rule has decided. What is neither TLS nor HTTP
 * passes. Of HTTP, only the first request of a connection is looked at.
 * @reason: set with FIRST_REFUSE.
 */
enum first_verdict first_read(
	const char *host, const uint8_t *data, size_t bytes, char reason[GATEWAY_REASON_BYTES]);
