/* Errors of a hostile server, which knows the key. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "agent/wire/retry.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

static const char key[] = "sk-secret";

static void put(char *out, size_t out_bytes, const uint8_t **data, size_t *bytes)
{
	const uint8_t *part;
	size_t n = fuzz_part(data, bytes, &part);
	snprintf(out, out_bytes, "%.*s", (int)(n < 200 ? n : 200), (const char *)part);
}

static void check(const struct failure *f)
{
	struct retry retry = RETRY_INIT(1);
	MUST(f->class > FAILURE_NONE && f->class < FAILURE_END_);
	MUST(f->err.code != ERR_NONE && f->err.msg[0]);
	MUST(!strstr(f->err.msg, key) && !strstr(f->err.hint, key) && !strstr(f->request_id, key));
	MUST(utf8_is_valid(f->err.msg, strlen(f->err.msg)));
	MUST(f->wait_ms >= -1 && f->wait_ms <= 86400000 && f->context_tokens >= 0);
	MUST(retry_next(&retry, f) <= RETRY_LOADING_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct failure_headers h = {.now = 1700000000};
	struct failure f;
	if (bytes < 2)
		return 0;
	int status = (data[0] << 8 | data[1]) % 1000;
	data += 2;
	bytes -= 2;
	put(h.should_retry, sizeof h.should_retry, &data, &bytes);
	put(h.retry_after, sizeof h.retry_after, &data, &bytes);
	put(h.retry_after_ms, sizeof h.retry_after_ms, &data, &bytes);
	put(h.request_id, sizeof h.request_id, &data, &bytes);
	failure_read(&f, status, &h, (const char *)data, bytes, key);
	check(&f);
	json_t *json = json_loadb((const char *)data, bytes, JSON_DECODE_ANY, NULL);
	if (json) {
		failure_read_json(&f, json, key);
		check(&f);
	}
	json_decref(json);
	return 0;
}
