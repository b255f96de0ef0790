/* Headers of hostile programs and clients, and tokens: what is passed on has no token, a cookie of
 * a program stays with its port, and nothing is longer than it may be. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "base/buf.h"
#include "serve/http/credential.h"
#include "serve/web/port_headers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VALUE_MAX = 4096 };

#define PREFIX "/s/demo/8000"

/* The cookie's last attribute is the path, and it has no domain: browsers take the last one of a
 * name. Source: RFC 6265, 5.2. */
static void check_cookie(const char *value, bool is_path)
{
	static const char own[] = "; Path=" PREFIX "/";
	size_t bytes = strlen(value), n = sizeof own - 1;
	if (is_path)
		MUST(bytes >= n && strcmp(value + bytes - n, own) == 0);
	for (const char *at = strchr(value, ';'); at; at = strchr(at, ';')) {
		at += 1 + strspn(at + 1, " \t");
		size_t name = strcspn(at, "=;");
		while (name > 0 && strchr(" \t", at[name - 1]))
			name--;
		MUST(name != 6 || strncasecmp(at, "Domain", 6) != 0);
		if (is_path && at < value + bytes - n)
			MUST(name != 4 || strncasecmp(at, "Path", 4) != 0);
	}
}

static void check_headers(const struct port_view *view, const char *name, const char *value)
{
	static const char mark[] = "base64url.bearer.retort.";
	cleanup_buf struct buf out = BUF_INIT(VALUE_MAX);
	if (port_request_header(view, name, value, &out)) {
		MUST(out.bytes <= VALUE_MAX);
		MUST(strcasecmp(name, CREDENTIAL_HEADER_NAME) != 0);
		MUST(strcasecmp(name, "Authorization") != 0 ||
			view->credential != CREDENTIAL_AUTHORIZATION);
		if (strcasecmp(name, "Sec-WebSocket-Protocol") == 0) {
			char token[CREDENTIAL_BYTES];
			MUST(!credential_read_protocols(buf_str(&out), token));
			MUST(strncmp(buf_str(&out), mark, sizeof mark - 1) != 0);
		}
	}
	if (port_answer_header(view, name, value, &out)) {
		MUST(out.bytes <= VALUE_MAX);
		if (strcasecmp(name, "Set-Cookie") == 0)
			check_cookie(buf_str(&out), *view->prefix != '\0');
	}
}

/* A name, a value, and the request's Connection, each up to the next NUL. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *part;
	char *texts[3], token[CREDENTIAL_BYTES];
	for (int i = 0; i < 3; i++) {
		size_t n = fuzz_part(&data, &bytes, &part);
		texts[i] = fuzz_text(part, n);
	}
	const char *const names[] = {texts[0], "Set-Cookie", "Location", "Sec-WebSocket-Protocol"};
	for (int i = 0; i < 16; i++) {
		const struct port_view view = {.prefix = i & 1 ? PREFIX : "",
			.host = i & 2 ? "127.0.0.1:8765" : "",
			.credential = i & 4 ? CREDENTIAL_AUTHORIZATION : CREDENTIAL_PROTOCOL,
			.is_upgrade = i & 8,
			.connection = texts[2]};
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			check_headers(&view, names[k], texts[1]);
	}
	if (credential_read_authorization(texts[1], true, token))
		MUST(strlen(token) > 0 && strlen(token) < CREDENTIAL_BYTES);
	if (credential_read_protocols(texts[1], token))
		MUST(strlen(token) > 0 && strlen(token) < CREDENTIAL_BYTES);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
	return 0;
}
