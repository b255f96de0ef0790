/* A datagram from a box: each answer is one to its query, within its bounds, and of the same
 * question. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/attr.h"
#include "gateway/process/resolver.h"

#include <string.h>

enum { HEADER_BYTES = 12, A = 1 };

static void check_answer(const struct resolver_query *q, enum resolver_result result,
	const uint8_t *data, size_t bytes)
{
	static const uint8_t v4[] = {198, 18, 1, 0};
	uint8_t out[RESOLVER_ANSWER_BYTES];
	size_t n = resolver_write(q, result, 0xc6120100, out);
	bool has_address = q->wants_address && result == RESOLVER_FOUND;
	MUST(n >= HEADER_BYTES && n <= sizeof out && n <= bytes + RESOLVER_GROWTH_BYTES);
	MUST(memcmp(out, data, 2) == 0);
	MUST(out[2] & 0x80 && !(out[2] & 0x02) && ((out[2] ^ data[2]) & 0x79) == 0);
	MUST(out[4] == 0 && out[6] == 0 && out[8] == 0 && out[9] == 0 && out[10] == 0);
	MUST(out[5] <= 1 && out[7] == has_address && out[11] <= 1);
	MUST(n == q->echo_bytes + 16u * out[7] + 11u * out[11]);
	MUST(memcmp(out + HEADER_BYTES, data + HEADER_BYTES, q->echo_bytes - HEADER_BYTES) == 0);
	if (has_address)
		MUST(memcmp(out + q->echo_bytes + 12, v4, sizeof v4) == 0 && (out[3] & 0x0f) == 0);
	if (result != RESOLVER_FOUND)
		MUST((out[3] & 0x0f) != 0 || out[11]);
	/* An answer is never answered, so two resolvers don't talk for ever. */
	struct resolver_query again;
	MUST(!resolver_read(&again, out, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct resolver_query q;
	char name[RULE_HOST_BYTES];
	if (!resolver_read(&q, data, bytes)) {
		MUST(bytes < HEADER_BYTES || data[2] & 0x80);
		return 0;
	}
	MUST((q.name[0] == '\0') == (q.rcode != 0));
	MUST(!q.name[0] || (rule_name(name, q.name, strlen(q.name)) && strcmp(name, q.name) == 0));
	MUST(q.wants_address == (q.name[0] && q.type == A));
	check_answer(&q, RESOLVER_FOUND, data, bytes);
	check_answer(&q, RESOLVER_REFUSED, data, bytes);
	check_answer(&q, RESOLVER_FULL, data, bytes);
	return 0;
}
