/* What a TLS client sends first: whole, and cut at every byte. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "gateway/process/hello.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct hello whole = {0}, part = {0};
	char name[RULE_HOST_BYTES];
	enum hello_verdict verdict = hello_read(&whole, data, bytes), last = HELLO_MORE;
	MUST(verdict != HELLO_MORE || bytes < HELLO_BYTES);
	if (verdict == HELLO_TLS && whole.host[0])
		MUST(rule_name(name, whole.host, strlen(whole.host)) &&
			strcmp(name, whole.host) == 0);
	size_t step = bytes > 2048 ? bytes / 512 : 1;
	for (size_t n = 0; n < bytes; n += step) {
		enum hello_verdict now = hello_read(&part, data, n);
		MUST(last == HELLO_MORE || now == last);
		MUST(now == HELLO_MORE || now == verdict);
		if (now == HELLO_TLS)
			MUST(strcmp(part.host, whole.host) == 0 && part.has_ech == whole.has_ech);
		last = now;
	}
	return 0;
}
