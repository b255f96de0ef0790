/* Heads of requests: which host they name, and all that is refused. SPDX-License-Identifier:
 * Apache-2.0 */
#include "gateway/process/request_head.h"

#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read in storage of its very size; each part before the whole gets REQUEST_HEAD_MORE or the same.
 */
static enum request_head_verdict read_all(struct request_head *out, const char *data, size_t bytes)
{
	enum request_head_verdict verdict = REQUEST_HEAD_MORE, last = REQUEST_HEAD_MORE;
	size_t step = bytes > 1024 ? 61 : 1;
	for (size_t n = 0; n <= bytes; n = n == bytes ? n + 1 : MIN(n + step, bytes)) {
		uint8_t *exact = malloc(n + (n == 0));
		memcpy(exact, data, n);
		verdict = request_head_read(out, exact, n);
		free(exact);
		if (last != REQUEST_HEAD_MORE && !CHECK_INT(verdict, last))
			break;
		last = verdict;
	}
	return verdict;
}

TEST(hosts)
{
	static const struct {
		const char *head, *host;
		uint16_t port;
	} rows[] = {
		{"GET / HTTP/1.1\r\nHost: Api.Example\r\n\r\n", "api.example", 0},
		{"GET / HTTP/1.1\r\nhost:api.example:8080 \t\r\n\r\n", "api.example", 8080},
		{"POST /x?y=http://other.example/ HTTP/1.1\r\nA: b\r\nHOST: db.\r\nC:\r\n\r\n",
			"db", 0},
		{"GET / HTTP/1.0\r\nHost: a.example\r\n\r\n", "a.example", 0},
		{"GET / HTTP/1.0\r\n\r\n", "", 0},
		{"OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", "a.example", 0},
		{"GET http://a.example HTTP/1.1\r\nHost: A.example\r\n\r\n", "a.example", 0},
		{"GET HTTPS://A.example:1?x HTTP/1.1\r\nHost: a.example:1\r\n\r\n", "a.example", 1},
		{"GET http://a.example/ HTTP/1.0\r\n\r\n", "a.example", 0},
		{"GET / HTTP/1.1\r\nHost: 192.0.2.1:81\r\n\r\n", "192.0.2.1", 81},
		{"GET / HTTP/1.1\r\nHost: [2001:DB8::1]\r\n\r\n", "2001:db8::1", 0},
		{"GET / HTTP/1.1\r\nHost: [::ffff:10.0.0.1]:7\r\n\r\n", "10.0.0.1", 7},
		{"GET / HTTP/1.1\r\nHost: a\r\nX-Host: b\r\nHosts: c\r\nHose: d\r\n\r\n", "a", 0},
		{"GET /\xc3\xbc HTTP/1.1\r\nHost: a\r\nX: \xc3\xbc\t\r\n\r\n", "a", 0},
		{"m-search!x / HTTP/1.1\r\nHost: a\r\n\r\n", "a", 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct request_head head = {0};
		size_t bytes = strlen(rows[i].head);
		if (!CHECK_INT(read_all(&head, rows[i].head, bytes), REQUEST_HEAD_HTTP1))
			printf("# %s\n", rows[i].head);
		CHECK_STR(head.host, rows[i].host);
		CHECK_INT(head.port, rows[i].port);
		CHECK_INT(head.bytes, bytes);
	}
}

TEST(a_body_is_not_looked_at)
{
	static const char text[] = "PUT / HTTP/1.1\r\nHost: a\r\n\r\nHost: b\r\n\r\n\0\n";
	struct request_head head;
	CHECK_INT(read_all(&head, text, sizeof text - 1), REQUEST_HEAD_HTTP1);
	CHECK_STR(head.host, "a");
	CHECK_INT(head.bytes, 27);
}

#define GET "GET / HTTP/1.1\r\n"

TEST(bad_heads)
{
	static const char *const heads[] = {GET "\r\n", GET "Host:\r\n\r\n", GET "Host: \t\r\n\r\n",
		GET "Host: a\r\nHost: a\r\n\r\n", GET "Host: a\r\nhost: b\r\n\r\n",
		GET "Host: a\r\n b\r\n\r\n", GET "Host:\r\n a\r\n\r\n",
		GET " Host: a\r\nHost: b\r\n\r\n", GET "Host : a\r\n\r\n",
		GET "Host\t: a\r\nHost: a\r\n\r\n", GET "Host: a\r\nX : y\r\n\r\n",
		GET "Host: a\r\nX\r\n\r\n", GET "Host: a\r\n: y\r\n\r\n", GET "Host: a\n\n",
		GET "Host: a\n\r\n", GET "Host: a\r\nX: yy\n\r\n", GET "Host: a\r\nX: \x7f\r\n\r\n",
		GET "Host: a\r\nX: y\rHost: b\r\n\r\n", GET "Host: a\r\r\n\r\n",
		GET "Host: a\r\nX: \x01\r\n\r\n", GET "Host: a\x7f\r\n\r\n",
		GET "Host: me@a\r\n\r\n", GET "Host: a, b\r\n\r\n", GET "Host: a b\r\n\r\n",
		GET "Host: a:\r\n\r\n", GET "Host: a:0\r\n\r\n", GET "Host: a:65536\r\n\r\n",
		GET "Host: a:80:80\r\n\r\n", GET "Host: a/b\r\n\r\n", GET "Host: http://a\r\n\r\n",
		GET "Host: 127.1\r\n\r\n", GET "Host: 0x7f000001\r\n\r\n", GET "Host: [a]\r\n\r\n",
		GET "Host: [::1\r\n\r\n", GET "Host: [::1]x\r\n\r\n",
		GET "Host: [127.0.0.1]\r\n\r\n", GET "Host: ::1\r\n\r\n",
		GET "Host: b\xc3\xbc\r\n\r\n", GET "Host: a%2eb\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n",
		"GET http://a:1/ HTTP/1.1\r\nHost: a:2\r\n\r\n",
		"GET http://a:1/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://me@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://a\\@b/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
		"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", "GET a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
		"GET a HTTP/1.1\r\nHost: a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
		"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\tHTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / x HTTP/1.1\r\nHost: a\r\n\r\n", "GET / http/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.10\r\nHost: a\r\n\r\n", "GET / HTTP/01.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n",
		"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\n\r\n",
		"GET /\x01 HTTP/1.0\r\n\r\n"};
	struct request_head head = {.host = "before"};
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		if (!CHECK_INT(read_all(&head, heads[i], strlen(heads[i])), REQUEST_HEAD_BAD))
			printf("# %s\n", heads[i]);
	CHECK_STR(head.host, "before");
}

#define VERDICT(text) read_all(&(struct request_head){0}, text, sizeof(text) - 1)

TEST(a_nul)
{
	CHECK_INT(VERDICT("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"), REQUEST_HEAD_BAD);
	CHECK_INT(VERDICT("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n"), REQUEST_HEAD_BAD);
	CHECK_INT(VERDICT("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n"), REQUEST_HEAD_BAD);
	CHECK_INT(VERDICT("GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n"), REQUEST_HEAD_BAD);
}

TEST(http2)
{
	CHECK_INT(VERDICT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0"), REQUEST_HEAD_HTTP2);
	CHECK_INT(VERDICT("PRI * HTTP/2.0\r"), REQUEST_HEAD_MORE);
}

TEST(other_protocols)
{
	CHECK_INT(VERDICT(""), REQUEST_HEAD_MORE);
	CHECK_INT(VERDICT("GET / HTTP/1.1\r\nHost: a\r\n"), REQUEST_HEAD_MORE);
	CHECK_INT(VERDICT("\x16\3\1"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("\0"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("SSH-2.0-Go\r\n"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("PING\r\n"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("*1\r\n$4\r\nPING\r\n"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("EHLO a.example\r\n"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("AMQP\0\0\x09\1"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("0033git-upload-pack /project.git\0host=a\0"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("{\"id\": 1}"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("\r\n\0"), REQUEST_HEAD_NOT_HTTP);
}

TEST(http_0_9)
{
	CHECK_INT(VERDICT("GET /index.html\r\n"), REQUEST_HEAD_NOT_HTTP);
	CHECK_INT(VERDICT("GET http://a/\r\n"), REQUEST_HEAD_BAD);
	CHECK_INT(VERDICT("\r\nget  x://a\n"), REQUEST_HEAD_BAD);
	CHECK_INT(VERDICT("GET http://a/"), REQUEST_HEAD_MORE);
	CHECK_INT(VERDICT("SET a http://a/\r\n"), REQUEST_HEAD_NOT_HTTP);
}

TEST(long_heads)
{
	static const char start[] = GET "Host: a\r\nX: ";
	char *text = malloc(REQUEST_HEAD_BYTES + 8);
	struct request_head head;
	memset(text, 'x', REQUEST_HEAD_BYTES + 8);
	CHECK_INT(read_all(&head, text, REQUEST_HEAD_BYTES + 8), REQUEST_HEAD_BAD);
	CHECK_INT(read_all(&head, text, REQUEST_HEAD_BYTES - 1), REQUEST_HEAD_MORE);
	memcpy(text, start, sizeof start - 1);
	CHECK_INT(read_all(&head, text, REQUEST_HEAD_BYTES - 1), REQUEST_HEAD_MORE);
	CHECK_INT(read_all(&head, text, REQUEST_HEAD_BYTES), REQUEST_HEAD_BAD);
	memcpy(text + REQUEST_HEAD_BYTES - 4, "\r\n\r\n", 4);
	CHECK_INT(read_all(&head, text, REQUEST_HEAD_BYTES + 8), REQUEST_HEAD_HTTP1);
	CHECK_INT(head.bytes, REQUEST_HEAD_BYTES);
	memcpy(text + REQUEST_HEAD_BYTES - 4, "x\r\n\r\n", 5);
	CHECK_INT(read_all(&head, text, REQUEST_HEAD_BYTES + 8), REQUEST_HEAD_BAD);
	free(text);
}
