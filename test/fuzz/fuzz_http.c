/* Headers, addresses and the token file as outsiders write them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "base/buf.h"
#include "serve/http/address.h"
#include "serve/http/host.h"
#include "serve/http/sse.h"
#include "serve/http/token.h"

#include <stdlib.h>
#include <string.h>

static void check_address(const char *text)
{
	struct address a, again;
	struct err err = {0};
	if (address_parse(text, &a, &err) < 0) {
		MUST(err.code == ERR_USAGE && err.msg[0] && err.hint[0]);
		return;
	}
	const struct address_text as = address_format(&a);
	MUST(address_parse(as.text, &again, &err) == 0);
	MUST(address_is_same_host(&a, &again));
	MUST(address_is_loopback(&a) == address_is_loopback(&again));
}

static void check_tokens(const char *text)
{
	struct token_row *rows;
	size_t n;
	struct err err = {0};
	if (token_parse("t", text, &rows, &n, &err) < 0) {
		MUST(err.msg[0] && err.hint[0]);
		return;
	}
	MUST(n > 0 && n <= TOKENS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct principal *p;
		MUST(principal_new(&p, rows[i].name, &rows[i].limits, &err) == 0);
		principal_free(p);
		for (size_t j = 0; j < i; j++) {
			MUST(strcmp(rows[i].name, rows[j].name) != 0);
			MUST(memcmp(rows[i].hash, rows[j].hash, TOKEN_HASH_BYTES) != 0);
		}
	}
	free(rows);
}

/* What a name is bound to anew is no address, and is not named here. */
static void check_host(const char *text)
{
	static const struct host_rules rules = {0};
	cleanup_buf struct buf evil = BUF_INIT(1 << 20), origin = BUF_INIT(1 << 20);
	bool is_allowed = host_is_allowed(&rules, text);
	if (buf_addf(&evil, "%s.evil.example", text) == 0)
		MUST(!host_is_allowed(&rules, buf_str(&evil)));
	MUST(!is_allowed || strcspn(text, "/@ ,\\\t") == strlen(text));
	if (buf_addf(&origin, "http://%s", text) == 0)
		MUST(!origin_is_allowed(&rules, buf_str(&origin)) || is_allowed);
	MUST(!origin_is_named(&rules, text));
	(void)origin_is_allowed(&rules, text);
}

static void check_events(const char *text)
{
	cleanup_buf struct buf out = BUF_INIT(16 << 20), again = BUF_INIT(1 << 20);
	bool is_accepted = sse_is_accepted(text);
	if (buf_addf(&again, "%s,text/event-stream", text) == 0)
		MUST(sse_is_accepted(buf_str(&again)));
	MUST(!is_accepted || strlen(text) >= sizeof SSE_TYPE - 1);
	MUST(sse_put(&out, "x", text, strlen(text)) == 0);
	/* One event, whatever is in it. */
	const char *end = strstr(buf_str(&out), "\n\n");
	MUST(end && end[2] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = fuzz_text(data, bytes);
	check_address(text);
	check_tokens(text);
	check_host(text);
	check_events(text);
	free(text);
	return 0;
}
