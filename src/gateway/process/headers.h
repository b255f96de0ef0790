/* The headers of requests and of answers, as they are passed on. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "gateway/process/exchange.h"

struct headers {
	struct exchange *exchange;
	struct net_header v[NET_HEADERS_MAX];
	size_t n;
	const char *why_not;   /* NULL, or why the request cannot be passed on with them */
	struct buf connection; /* the values of its headers Connection, as one list */
};

/* Collect the headers of the request @x, with values in the place of placeholders, and count them.
 * Owns: the caller calls headers_done(). */
void headers_of_request(struct headers *list, struct exchange *x);
void headers_done(struct headers *list);

/* Add the headers of the answer, in which values are blotted out, to x->response. */
void headers_of_answer(struct exchange *x);
