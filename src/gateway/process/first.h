/* What the first bytes of a client say about whom it wants. Pure. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "gateway/gateway.h"
#include "gateway/process/hello.h"
#include "gateway/process/request_head.h"

/* With so many bytes first_read() never says FIRST_MORE. */
enum { FIRST_BYTES = HELLO_BYTES };
_Static_assert((int)FIRST_BYTES >= (int)REQUEST_HEAD_BYTES, "the longer of the two");

enum first_verdict { FIRST_MORE, FIRST_PASS, FIRST_REFUSE };

/*
 * Many names lead to the same server, which goes by the name that the client gives it in TLS or
 * HTTP. So this name must be @host, for which a rule has decided. What is neither TLS nor HTTP
 * passes. Of HTTP, only the first request of a connection is looked at.
 * @reason: set with FIRST_REFUSE.
 */
enum first_verdict first_read(
	const char *host, const uint8_t *data, size_t bytes, char reason[GATEWAY_REASON_BYTES]);
