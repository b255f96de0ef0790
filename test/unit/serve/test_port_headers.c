/* What programs of boxes, and their clients, get of each other's headers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/web/port_headers.h"

#include "t.h"

#include <string.h>

static const struct port_view by_path = {
	.prefix = "/s/demo/8000", .host = "127.0.0.1:8765", .credential = CREDENTIAL_AUTHORIZATION};
static const struct port_view by_host = {.prefix = "",
	.host = "8000-demo.localhost:8765",
	.credential = CREDENTIAL_HEADER,
	.connection = "keep-alive, X-Hop"};
static const struct port_view upgrade = {.prefix = "/s/demo/8000",
	.host = "h",
	.credential = CREDENTIAL_PROTOCOL,
	.is_upgrade = true,
	.connection = "Upgrade"};

struct row {
	const struct port_view *view;
	const char *name, *value, *want; /* NULL: dropped */
};

static void check(bool (*pass)(const struct port_view *view, const char *name, const char *value,
			  struct buf *out),
	const struct row *row)
{
	cleanup_buf struct buf out = BUF_INIT(1 << 16);
	CHECK_INT(pass(row->view, row->name, row->value, &out), row->want != NULL);
	if (row->want)
		CHECK_STR(buf_str(&out), row->want);
}

TEST(requests)
{
	static const struct row rows[] = {
		{&by_path, "Accept", "a  b", "a  b"},
		{&by_path, "X-Empty", "", ""},
		{&by_path, "Cookie", "a=b", "a=b"},
		{&by_path, "Host", "x", "x"},
		{&by_path, "Origin", "null", "null"},
		{&by_path, "Connection", "close", NULL},
		{&by_path, "kEEP-aLIVE", "5", NULL},
		{&by_path, "TE", "trailers", NULL},
		{&by_path, "Transfer-Encoding", "chunked", NULL},
		{&by_path, "Content-Length", "5", NULL},
		{&by_path, "Expect", "100-continue", NULL},
		{&by_path, "Proxy-Authorization", "x", NULL},
		{&by_path, "X-Forwarded-Prefix", "/mine", NULL},
		{&by_path, "X-RETORT-TOKEN", "secret", NULL},
		{&by_host, "X-Retort-Token", "secret", NULL},
		{&by_path, "Authorization", "Bearer secret", NULL},
		{&by_host, "Authorization", "Bearer own", "Bearer own"},
		{&by_host, "x-hop", "1", NULL},
		{&by_path, "x-hop", "1", "1"},
		{&by_path, "Upgrade", "h2c", NULL},
		{&by_path, "HTTP2-Settings", "x", NULL},
		{&upgrade, "Upgrade", "websocket", "websocket"},
		{&upgrade, "Sec-WebSocket-Key", "x", "x"},
		{&upgrade, "Sec-WebSocket-Protocol", "a, base64url.bearer.retort.eA, b", "a, b"},
		{&upgrade, "sec-websocket-protocol", "base64url.bearer.retort.eA", NULL},
		{&by_path, "Sec-WebSocket-Protocol",
			"base64url.bearer.retort.eA,base64url.bearer.retort.eB,c", "c"},
		{&upgrade, "Sec-WebSocket-Protocol", "base64url.bearer.other.eA",
			"base64url.bearer.other.eA"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(port_request_header, &rows[i]);
}

TEST(answers)
{
	static const struct row rows[] = {
		{&by_path, "ETag", "x", "x"},
		{&by_path, "Connection", "close", NULL},
		{&by_path, "Transfer-Encoding", "chunked", NULL},
		{&by_path, "content-length", "5", NULL},
		{&by_path, "Trailer", "x", NULL},
		{&by_path, "Proxy-Authenticate", "x", NULL},
		{&by_path, "WWW-Authenticate", "Basic", "Basic"},
		{&by_path, "Alt-Svc", "x", NULL},
		{&by_host, "NEL", "x", NULL},
		{&by_path, "Report-To", "x", NULL},
		{&by_path, "Accept-CH", "x", NULL},
		{&by_host, "Strict-Transport-Security", "x", NULL},
		{&by_path, "Clear-Site-Data", "\"*\"", NULL},
		{&by_host, "Clear-Site-Data", "\"*\"", "\"*\""},
		{&by_path, "Service-Worker-Allowed", "/", NULL},
		{&by_host, "Service-Worker-Allowed", "/", "/"},
		{&by_path, "Content-Security-Policy", "default-src *", "default-src *"},
		{&by_path, "Upgrade", "h2", NULL},
		{&upgrade, "Upgrade", "websocket", "websocket"},
		{&upgrade, "Sec-WebSocket-Protocol", "a", "a"},
		{&by_path, "Access-Control-Allow-Origin", "*", "*"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(port_answer_header, &rows[i]);
}

TEST(cookies)
{
#define OWN "; Path=/s/demo/8000/"
	static const char *const rows[][3] = {
		/* value, below a path, at a host */
		{"a=b", "a=b" OWN, "a=b"},
		{"a=b; Path=/; Domain=x; Secure", "a=b; Secure" OWN, "a=b; Path=/; Secure"},
		{"a=b;path=/;DOMAIN=.x;HttpOnly", "a=b; HttpOnly" OWN, "a=b; path=/; HttpOnly"},
		{"a=b;  \tPaTh  =/;\t dOmAiN\t=x", "a=b" OWN, "a=b; PaTh  =/"},
		{"a=b; Path; Domain", "a=b" OWN, "a=b; Path"},
		{"a=b; Path=/x; Path=/y; Path=", "a=b" OWN, "a=b; Path=/x; Path=/y; Path="},
		{"Path=/; Path=/", "Path=/" OWN, "Path=/; Path=/"},
		{"domain=x; domain=y", "domain=x" OWN, "domain=x"},
		{"a=b;;; ; Path=/", "a=b; ; ; " OWN, "a=b; ; ; ; Path=/"},
		{"a=\"x; Path=/\"", "a=\"x" OWN, "a=\"x; Path=/\""},
		{"", OWN, ""},
		{";", OWN, ""},
		{"a=b; Pathological=1; Domains=2", "a=b; Pathological=1; Domains=2" OWN,
			"a=b; Pathological=1; Domains=2"},
		{"a=b; Max-Age=5; SameSite=None", "a=b; Max-Age=5; SameSite=None" OWN,
			"a=b; Max-Age=5; SameSite=None"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check(port_answer_header,
			&(struct row){&by_path, "set-COOKIE", rows[i][0], rows[i][1]});
		check(port_answer_header,
			&(struct row){&by_host, "Set-Cookie", rows[i][0], rows[i][2]});
	}
}

TEST(locations)
{
	static const struct row rows[] = {
		{&by_path, "Location", "/login?a#b", "/s/demo/8000/login?a#b"},
		{&by_path, "location", "login", "login"},
		{&by_path, "Location", "//example.org/x", "//example.org/x"},
		{&by_path, "Location", "http://127.0.0.1:8765/a", "/s/demo/8000/a"},
		{&by_path, "Location", "HTTPS://127.0.0.1:8765/a", "/s/demo/8000/a"},
		{&by_path, "Location", "http://127.0.0.1:8765//evil",
			"http://127.0.0.1:8765//evil"},
		{&by_path, "Location", "http://127.0.0.1:87650/a", "http://127.0.0.1:87650/a"},
		{&by_path, "Location", "https://example.org/", "https://example.org/"},
		{&by_path, "Location", "", ""},
		{&by_host, "Location", "/login", "/login"},
		{&by_host, "Location", "http://8000-demo.localhost:8765/a", "/a"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(port_answer_header, &rows[i]);
}

/* What does not fit is dropped, not cut. */
TEST(values_have_a_maximum)
{
	cleanup_buf struct buf out = BUF_INIT(16);
	CHECK(!port_answer_header(&by_host, "ETag", "0123456789abcdefg", &out));
	CHECK(port_answer_header(&by_host, "ETag", "0123", &out));
	CHECK_STR(buf_str(&out), "0123");
	CHECK(!port_answer_header(&by_path, "Location", "/0123", &out));
	CHECK(!port_answer_header(&by_path, "Set-Cookie", "a=b", &out));
	CHECK(!port_request_header(&by_host, "ETag", "0123456789abcdefg", &out));
}
