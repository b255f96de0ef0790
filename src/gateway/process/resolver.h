/*
 * The resolver of a box: DNS over UDP, one question and one answer. Pure.
 *
 * No question is passed on to another server. Names lead to addresses that only mean something
 * inside of the box; all types but A are answered as if there were none, so that neither data nor
 * keys (ECH) arrive by them.
 *
 * Source: RFC 1035, RFC 6891 (EDNS), RFC 8482.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/rule/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RESOLVER_QUERY_BYTES = 1232, /* a longer query is an error; receive one byte more */
	RESOLVER_ANSWER_BYTES = 512, /* an answer has always room in it, and is never cut */
	RESOLVER_GROWTH_BYTES = 16,  /* by how much an answer is longer than its query, at most */
	RESOLVER_TTL_S = 60
};

/* A query. Its fields but the first three are for resolver_write(). */
struct resolver_query {
	/* The name as rule_name() makes it; "" if the answer is settled, as it is for errors and
	 * for names that no host can have. */
	char name[RULE_HOST_BYTES];
	bool wants_address; /* of type A: only then RESOLVER_FOUND needs an address */
	uint16_t type;
	uint8_t rcode; /* of a settled answer, else 0 */
	bool has_edns;
	size_t echo_bytes; /* of the query: header and question, or the header alone */
	const uint8_t *data;
};

/* What is known of a name. */
enum resolver_result {
	RESOLVER_FOUND,	  /* it is allowed */
	RESOLVER_REFUSED, /* no rule names it: NXDOMAIN, for every type */
	RESOLVER_FULL	  /* the box has asked for too many names: SERVFAIL */
};

/*
 * Read a datagram that came from the box.
 * Owns:    @out refers to @data until resolver_write().
 * Returns: false if there is to be no answer: it is shorter than a header, or no query.
 */
bool resolver_read(struct resolver_query *out, const uint8_t *data, size_t bytes);

/*
 * Write the answer. @result and @v4, in host byte order, do not matter if it is settled. The
 * question is repeated as it was asked, upper and lower case too.
 * Returns: its length.
 */
size_t resolver_write(const struct resolver_query *q, enum resolver_result result, uint32_t v4,
	uint8_t out[RESOLVER_ANSWER_BYTES]);
