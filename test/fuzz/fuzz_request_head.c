/* What an HTTP client sends first: whole, and cut at every byte. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE 1
#include "fuzz.h"

#include "base/attr.h"
#include "gateway/process/request_head.h"

#include <string.h>

static void check_head(const struct request_head *head, const uint8_t *data, size_t bytes)
{
	char name[RULE_HOST_BYTES];
	struct ip ip;
	MUST(head->bytes <= bytes && head->bytes <= REQUEST_HEAD_BYTES);
	MUST(memcmp(data + head->bytes - 4, "\r\n\r\n", 4) == 0);
	MUST(!memchr(data, '\0', head->bytes));
	MUST(memmem(data, head->bytes, "\r\n\r\n", 4) == data + head->bytes - 4);
	bool is_name = rule_name(name, head->host, strlen(head->host));
	MUST(is_name ? strcmp(name, head->host) == 0
		     : head->host[0] == '\0' || ip_parse(&ip, head->host));
	MUST(head->host[0] || head->port == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct request_head whole = {0}, part = {0};
	enum request_head_verdict verdict = request_head_read(&whole, data, bytes),
				  last = REQUEST_HEAD_MORE;
	MUST(verdict != REQUEST_HEAD_MORE || bytes < REQUEST_HEAD_BYTES);
	if (verdict == REQUEST_HEAD_HTTP1)
		check_head(&whole, data, bytes);
	size_t step = bytes > 2048 ? bytes / 512 : 1;
	for (size_t n = 0; n < bytes; n += step) {
		enum request_head_verdict now = request_head_read(&part, data, n);
		MUST(last == REQUEST_HEAD_MORE || now == last);
		MUST(now == REQUEST_HEAD_MORE || now == verdict);
		if (now == REQUEST_HEAD_HTTP1)
			MUST(strcmp(part.host, whole.host) == 0 && part.port == whole.port &&
				part.bytes == whole.bytes);
		last = now;
	}
	return 0;
}
