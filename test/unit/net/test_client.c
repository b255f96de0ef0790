/* A request over a connection that exists already. The test is the server, and holds the other end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "net/client.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct bench {
	uv_loop_t loop;
	struct net *net;
	struct net_call *call;
	int server; /* the server's end */
	int upgraded;
	struct buf got, asked, early, headers;
	bool is_done, is_upgrade;
	struct net_result result;
	const char *body; /* that is sent in pieces of 3 bytes */
	unsigned n_waits; /* how often a callback says NET_WAIT */
};

static void bench_open(struct bench *b)
{
	struct err err;
	*b = (struct bench){.server = -1,
		.upgraded = -1,
		.got = BUF_INIT(1 << 20),
		.asked = BUF_INIT(1 << 20),
		.early = BUF_INIT(1 << 20),
		.headers = BUF_INIT(1 << 20)};
	CHECK_INT(uv_loop_init(&b->loop), 0);
	CHECK_INT(net_open(&b->net, &b->loop, &err), 0);
}

static void bench_done(struct bench *b)
{
	net_close(b->net);
	(void)uv_run(&b->loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b->loop), 0);
	fd_close(&b->server);
	fd_close(&b->upgraded);
	buf_done(&b->got);
	buf_done(&b->asked);
	buf_done(&b->early);
	buf_done(&b->headers);
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct bench *b = arg;
	if (b->n_waits > 0) {
		b->n_waits--;
		net_go_on(b->call);
		return NET_WAIT;
	}
	return buf_append(&b->got, data, bytes);
}

static ssize_t on_body(void *arg, char *data, size_t max)
{
	struct bench *b = arg;
	size_t n = MIN(MIN(strlen(b->body), 3), max);
	if (b->n_waits > 0) {
		b->n_waits--;
		net_go_on(b->call);
		return NET_WAIT;
	}
	memcpy(data, b->body, n);
	b->body += n;
	return (ssize_t)n;
}

static void on_done(void *arg, const struct net_result *result)
{
	struct bench *b = arg;
	b->is_done = true;
	b->result = *result;
}

static void on_upgrade(void *arg, int fd, const char *early, size_t bytes)
{
	struct bench *b = arg;
	b->is_upgrade = true;
	b->upgraded = fd;
	(void)buf_append(&b->early, early, bytes);
}

static void on_each(void *arg, const char *name, const char *value)
{
	(void)buf_addf(arg, "%s=%s|", name, value);
}

static void on_headers(void *arg)
{
	struct bench *b = arg;
	net_each_header(b->call, on_each, &b->headers);
}

/* Some versions of libcurl call connect() although the socket is connected, which only TCP takes.
 */
static void tcp_pair(int fds[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof at;
	cleanup_fd int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	CHECK_INT(listen(listener, 1), 0);
	CHECK_INT(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
	fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK_INT(connect(fds[1], (struct sockaddr *)&at, sizeof at), -1);
	CHECK_INT(errno, EINPROGRESS);
	fds[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	CHECK(fds[0] >= 0);
}

static int start(struct bench *b, struct net_request *request, bool may_upgrade)
{
	struct err err;
	int fds[2];
	tcp_pair(fds);
	b->server = fds[0];
	const struct net_pass pass = {
		.fd = fds[1], .target = "/a%2F?b", .on_upgrade = may_upgrade ? on_upgrade : NULL};
	request->pass = &pass;
	request->url = "http://127.0.0.1/";
	request->answer_max_bytes = 1 << 20;
	request->arg = b;
	request->on_headers = on_headers;
	request->on_data = on_data;
	request->on_done = on_done;
	return net_start(b->net, request, &b->call, &err);
}

/* Run the loop until the server has read something that ends in @text. */
static void ask_until(struct bench *b, const char *text)
{
	size_t n = strlen(text);
	while (!b->is_done &&
		(b->asked.bytes < n || memcmp(b->asked.data + b->asked.bytes - n, text, n) != 0)) {
		char data[4096];
		ssize_t r = recv(b->server, data, sizeof data, MSG_DONTWAIT);
		if (r > 0)
			(void)buf_append(&b->asked, data, (size_t)r);
		else
			(void)uv_run(&b->loop, UV_RUN_NOWAIT);
	}
}

static void answer(struct bench *b, const char *text, bool is_end)
{
	CHECK_INT(send(b->server, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	if (is_end)
		(void)shutdown(b->server, SHUT_WR);
	while (!b->is_done && !b->is_upgrade)
		(void)uv_run(&b->loop, UV_RUN_ONCE);
}

/* The request has the headers that were given, and no others. */
TEST(a_request)
{
	struct bench b;
	const struct net_header headers[] = {{"Host", "box"}, {"X-A", ""}, {"Cookie", "b"}};
	struct net_request request = {.method = "BREW", .headers = headers, .n_headers = 3};
	bench_open(&b);
	CHECK_INT(start(&b, &request, false), 0);
	ask_until(&b, "\r\n\r\n");
	CHECK_STR(buf_str(&b.asked),
		"BREW /a%2F?b HTTP/1.1\r\nHost: box\r\nX-A:\r\nCookie: b\r\n\r\n");
	b.n_waits = 3;
	answer(&b,
		"HTTP/1.1 103 x\r\nX-No: 1\r\n\r\nHTTP/1.1 207 x\r\nA: 1\r\na:  2 \r\n"
		"Content-Length: 3\r\n\r\nabc",
		false);
	CHECK_INT(b.result.end, NET_ANSWER);
	CHECK_INT(b.result.status, 207);
	CHECK_STR(buf_str(&b.got), "abc");
	CHECK_STR(buf_str(&b.headers), "A=1|a=2|Content-Length=3|");
	CHECK_INT(b.n_waits, 0);
	bench_done(&b);
}

TEST(bodies_in_pieces)
{
	static const struct {
		int64_t bytes;
		const char *want;
	} rows[] = {
		{10, "Content-Length: 10\r\n\r\n0123456789"},
		{-1,
			"Transfer-Encoding: chunked\r\n\r\n3\r\n012\r\n3\r\n345\r\n3\r\n678\r\n1\r\n"
			"9\r\n0\r\n\r\n"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bench b;
		struct net_request request = {
			.method = "POST", .on_body = on_body, .whole_bytes = rows[i].bytes};
		bench_open(&b);
		b.body = "0123456789";
		b.n_waits = 4;
		CHECK_INT(start(&b, &request, false), 0);
		ask_until(&b, rows[i].bytes < 0 ? "0\r\n\r\n" : "789");
		CHECK_HAS(buf_str(&b.asked), rows[i].want);
		CHECK(!strstr(buf_str(&b.asked), "Expect"));
		answer(&b, "HTTP/1.0 200 x\r\n\r\nuntil the end", true);
		CHECK_INT(b.result.end, NET_ANSWER);
		CHECK_STR(buf_str(&b.got), "until the end");
		bench_done(&b);
	}
}

TEST(what_is_no_response)
{
	static const char *const rows[] = {"", "220 mail\r\n",
		"HTTP/1.1 200 x\r\nContent-Length: 9\r\n\r\nabc",
		"HTTP/1.1 200 x\r\nContent-Length: -1\r\n\r\n", "HTTP/9.9 200 x\r\n\r\n",
		"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n",
		"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bench b;
		struct net_request request = {0};
		bench_open(&b);
		CHECK_INT(start(&b, &request, false), 0);
		ask_until(&b, "\r\n\r\n");
		answer(&b, rows[i], true);
		if (!CHECK(b.result.end != NET_ANSWER))
			printf("# %zu\n", i);
		CHECK(b.result.err.msg[0] != '\0');
		bench_done(&b);
	}
}

/* Wait for @bytes bytes. */
static size_t recv_all(int fd, char *data, size_t bytes)
{
	size_t n = 0;
	for (ssize_t r = 1; r != 0 && n<bytes; n += r> 0 ? (size_t)r : 0)
		r = recv(fd, data + n, bytes - n, MSG_DONTWAIT);
	return n;
}

TEST(an_upgrade)
{
	for (int has_early = 0; has_early < 2; has_early++) {
		struct bench b;
		const struct net_header headers[] = {
			{"Connection", "Upgrade"}, {"Upgrade", "websocket"}};
		struct net_request request = {.method = "GET", .headers = headers, .n_headers = 2};
		char data[8] = "";
		bench_open(&b);
		CHECK_INT(start(&b, &request, true), 0);
		ask_until(&b, "\r\n\r\n");
		answer(&b,
			has_early ? "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n\x81\x01x"
				  : "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n",
			false);
		CHECK(b.is_upgrade && !b.is_done);
		CHECK_STR(buf_str(&b.early), has_early ? "\x81\x01x" : "");
		CHECK_INT(send(b.upgraded, "to", 2, MSG_NOSIGNAL), 2);
		CHECK_INT(recv_all(b.server, data, 2), 2);
		CHECK_INT(send(b.server, "back", 4, MSG_NOSIGNAL), 4);
		CHECK_INT(recv_all(b.upgraded, data, 4), 4);
		CHECK_STR(data, "back");
		fd_close(&b.upgraded);
		bench_done(&b);
	}
}

/* A call that is cancelled closes its connection, and so does one that is refused. */
TEST(the_connection_is_closed)
{
	struct bench b;
	struct net_request request = {0};
	bench_open(&b);
	CHECK_INT(start(&b, &request, true), 0);
	ask_until(&b, "\r\n\r\n");
	CHECK(!b.is_done);
	net_cancel(b.call);
	while (recv(b.server, (char[1]){0}, 1, MSG_DONTWAIT) != 0)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	CHECK(!b.is_done);
	fd_close(&b.server);
	const struct net_header bad = {"X", "a\nb"};
	request = (struct net_request){.headers = &bad, .n_headers = 1};
	CHECK(start(&b, &request, true) < 0);
	while (recv(b.server, (char[1]){0}, 1, MSG_DONTWAIT) < 0)
		;
	bench_done(&b);
}
