/* A relay between two sockets, whose other ends the test holds. SPDX-License-Identifier:
 * Apache-2.0 */
#include "base/relay.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct bench {
	uv_loop_t loop;
	struct relay *relay;
	char *scratch;
	int a, b; /* the test's ends */
	bool is_done;
};

static void on_done(void *arg)
{
	struct bench *w = arg;
	w->is_done = true;
}

static void unix_pair(int fds[2])
{
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

static void tcp_pair(int fds[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof at;
	cleanup_fd int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	CHECK_INT(listen(listener, 1), 0);
	CHECK_INT(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(connect(fds[0], (struct sockaddr *)&at, sizeof at), 0);
	fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	CHECK(fds[1] >= 0);
}

static void begin_with(struct bench *w, void (*pair)(int fds[2]))
{
	int a[2], b[2];
	*w = (struct bench){.scratch = calloc(1, RELAY_BYTES)};
	CHECK_INT(uv_loop_init(&w->loop), 0);
	pair(a);
	pair(b);
	w->a = a[0];
	w->b = b[0];
	w->relay = relay_start(&w->loop, a[1], b[1], w->scratch, on_done, w);
	CHECK(w->relay != NULL);
}

static void begin(struct bench *w)
{
	begin_with(w, unix_pair);
}

static void turn(struct bench *w)
{
	for (int i = 0; i < 8; i++)
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void end(struct bench *w)
{
	if (!w->is_done)
		relay_stop(w->relay);
	while (!w->is_done)
		(void)uv_run(&w->loop, UV_RUN_ONCE);
	CHECK_INT(uv_loop_close(&w->loop), 0);
	fd_close(&w->a);
	fd_close(&w->b);
	free(w->scratch);
}

static void check_arrives(int fd, const char *text)
{
	char got[64] = "";
	ssize_t n = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);
	CHECK_INT(n, strlen(text));
	CHECK_STR(got, text);
}

TEST(both_ways)
{
	struct bench w;
	begin(&w);
	CHECK_INT(send(w.a, "to b", 4, 0), 4);
	CHECK_INT(send(w.b, "to a", 4, 0), 4);
	turn(&w);
	check_arrives(w.b, "to b");
	check_arrives(w.a, "to a");
	CHECK_INT(recv(w.a, (char[1]){0}, 1, MSG_DONTWAIT), -1);
	CHECK(!w.is_done);
	end(&w);
}

TEST(one_end_leaves_the_other_way_open)
{
	struct bench w;
	begin(&w);
	CHECK_INT(send(w.a, "last", 4, 0), 4);
	CHECK_INT(shutdown(w.a, SHUT_WR), 0);
	turn(&w);
	check_arrives(w.b, "last");
	CHECK_INT(recv(w.b, (char[1]){0}, 1, MSG_DONTWAIT), 0); /* the end */
	CHECK_INT(send(w.b, "still", 5, 0), 5);
	turn(&w);
	check_arrives(w.a, "still");
	CHECK(!w.is_done);
	CHECK_INT(shutdown(w.b, SHUT_WR), 0);
	turn(&w);
	CHECK(w.is_done);
	CHECK_INT(recv(w.a, (char[1]){0}, 1, MSG_DONTWAIT), 0);
	end(&w);
}

/* Write to @fd until nobody takes more. Returns: the bytes, which are those of a counter. */
static size_t fill(struct bench *w, int fd, size_t from)
{
	size_t n = from;
	for (int idle = 0; idle < 4;) {
		unsigned char data[1000];
		for (size_t i = 0; i < sizeof data; i++)
			data[i] = (unsigned char)((n + i) % 251);
		ssize_t sent = send(fd, data, sizeof data, MSG_DONTWAIT);
		n += sent > 0 ? (size_t)sent : 0;
		idle = sent > 0 ? 0 : idle + 1;
		if (sent < 0)
			turn(w);
	}
	return n;
}

static size_t drain(struct bench *w, int fd)
{
	size_t n = 0;
	for (int idle = 0; idle < 4;) {
		unsigned char data[4096];
		ssize_t got = recv(fd, data, sizeof data, MSG_DONTWAIT);
		for (ssize_t i = 0; i < got; i++)
			if (data[i] != (n + (size_t)i) % 251)
				CHECK_INT(data[i], (n + (size_t)i) % 251);
		n += got > 0 ? (size_t)got : 0;
		idle = got > 0 ? 0 : idle + 1;
		if (got < 0)
			turn(w);
		if (got == 0)
			break;
	}
	return n;
}

TEST(what_is_read_is_counted)
{
	struct bench w;
	uint64_t passed[2] = {0};
	begin(&w);
	relay_count(w.relay, passed);
	CHECK_INT(send(w.a, "to b", 4, 0), 4);
	CHECK_INT(send(w.b, "to a, and more", 14, 0), 14);
	turn(&w);
	CHECK_INT(passed[0], 4);
	CHECK_INT(passed[1], 14);
	end(&w);
}

TEST(who_does_not_read_holds_up_the_writer_and_loses_nothing)
{
	struct bench w;
	begin(&w);
	size_t n = fill(&w, w.a, 0);
	CHECK(n < 4 * RELAY_BYTES); /* two sockets' buffers, and what the relay keeps */
	CHECK_INT(send(w.b, "other way", 9, 0), 9);
	turn(&w);
	check_arrives(w.a, "other way");
	CHECK_INT(shutdown(w.a, SHUT_WR), 0);
	turn(&w);
	CHECK(!w.is_done);
	CHECK_INT(drain(&w, w.b), n);
	end(&w);
}

TEST(receiver_that_has_gone)
{
	struct bench w;
	begin(&w);
	CHECK_INT(send(w.b, "farewell", 8, 0), 8);
	fd_close(&w.b);
	CHECK_INT(send(w.a, "unheard", 7, 0), 7);
	turn(&w);
	check_arrives(w.a, "farewell");
	CHECK(recv(w.a, (char[1]){0}, 1, MSG_DONTWAIT) <= 0);
	CHECK_INT(shutdown(w.a, SHUT_WR), 0);
	turn(&w);
	CHECK(w.is_done);
	end(&w);
}

TEST(stopped_with_bytes_left)
{
	struct bench w;
	begin(&w);
	(void)fill(&w, w.a, 0);
	relay_stop(w.relay);
	relay_stop(w.relay);
	turn(&w);
	CHECK(w.is_done);
	CHECK_INT(send(w.a, "x", 1, MSG_NOSIGNAL), -1);
	CHECK_INT(errno, EPIPE);
	end(&w);
}

/* What has been sent before the relay is stopped arrives, with its end. */
TEST(stopped_after_the_last_words)
{
	struct bench w;
	begin_with(&w, tcp_pair);
	CHECK_INT(send(w.b, "last words", 10, 0), 10);
	CHECK_INT(shutdown(w.b, SHUT_WR), 0);
	relay_stop(w.relay);
	turn(&w);
	CHECK(w.is_done);
	check_arrives(w.a, "last words");
	CHECK_INT(recv(w.a, (char[1]){0}, 1, MSG_DONTWAIT), 0);
	end(&w);
}

/* What is cut off does not look whole. */
TEST(stopped_in_the_middle)
{
	struct bench w;
	begin_with(&w, tcp_pair);
	CHECK_INT(send(w.b, "half of", 7, 0), 7);
	relay_stop(w.relay);
	turn(&w);
	CHECK(w.is_done);
	check_arrives(w.a, "half of");
	CHECK_INT(recv(w.a, (char[1]){0}, 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, ECONNRESET);
	end(&w);
}

/* What is to be sent first comes before what the other side sends, which has come already. */
TEST(first_words)
{
	struct bench w;
	begin(&w);
	CHECK_INT(send(w.a, "then", 4, 0), 4);
	CHECK_INT(relay_begin(w.relay, 1, "first ", 6), 0);
	CHECK_INT(relay_begin(w.relay, 0, "", 0), 0);
	turn(&w);
	check_arrives(w.b, "first then");
	CHECK_INT(recv(w.a, (char[1]){0}, 1, MSG_DONTWAIT), -1);
	CHECK(!w.is_done);
	end(&w);
}

/* First words that the socket does not take at once wait, and all that follows waits for them. */
TEST(first_words_may_be_long)
{
	enum { BYTES = 1 << 20 };
	struct bench w;
	char *words = malloc(BYTES), *got = calloc(1, BYTES + 8);
	size_t n = 0;
	ssize_t r;
	begin(&w);
	for (size_t i = 0; i < BYTES; i++)
		words[i] = (char)(i % 251);
	CHECK_INT(relay_begin(w.relay, 1, words, BYTES), 0);
	memset(words, 0, BYTES); /* they were copied */
	CHECK_INT(send(w.a, "last", 4, 0), 4);
	CHECK_INT(shutdown(w.a, SHUT_WR), 0);
	while ((r = recv(w.b, got + n, BYTES + 8 - n, MSG_DONTWAIT)) != 0) {
		n += (size_t)MAX(r, 0);
		turn(&w);
	}
	CHECK_INT(n, BYTES + 4);
	for (size_t i = 0; i < BYTES; i++)
		words[i] = (char)(i % 251);
	CHECK(memcmp(got, words, BYTES) == 0);
	CHECK_STR(got + BYTES, "last");
	free(words);
	free(got);
	end(&w);
}

/* To a receiver that has gone: the relay ends all the same. */
TEST(first_words_for_nobody)
{
	struct bench w;
	begin(&w);
	fd_close(&w.b);
	CHECK_INT(relay_begin(w.relay, 1, "words", 5), 0);
	CHECK_INT(shutdown(w.a, SHUT_WR), 0);
	turn(&w);
	CHECK(w.is_done);
	end(&w);
}
