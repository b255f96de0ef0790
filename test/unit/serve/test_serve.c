/* The engine on a socket: framing, many clients, slow ones, ones that go away.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/socket.h"

#include "api/run/runs.h"
#include "base/fd.h"
#include "unit/registry/fake_registry.h"
#include "serve/connection.h"
#include "serve/rpc.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { TURNS = 4000 };

struct bench {
	uv_loop_t loop;
	struct registry *registry;
	struct runs *runs;
	struct operation_context context;
	struct socket_server *server;
	char dir[32], path[64];
	bool is_closed;
};

static void bench_open(struct bench *b)
{
	struct err err;
	*b = (struct bench){.dir = "/tmp/retort-test-XXXXXX"};
	CHECK(mkdtemp(b->dir) != NULL);
	snprintf(b->path, sizeof b->path, "%s/s", b->dir);
	CHECK_INT(uv_loop_init(&b->loop), 0);
	b->registry = fake_registry_new(&b->loop);
	b->runs = runs_open(&b->loop);
	b->context = (struct operation_context){
		.registry = b->registry, .runs = b->runs, .version = "1"};
	CHECK_INT(socket_open(&b->server, &b->loop, b->path, &b->context, &err), 0);
}

static void on_closed(void *arg)
{
	struct bench *b = arg;
	b->is_closed = true;
}

static void bench_done(struct bench *b)
{
	socket_close(b->server, on_closed, b);
	while (!b->is_closed)
		(void)uv_run(&b->loop, UV_RUN_ONCE);
	(void)uv_run(&b->loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b->loop), 0);
	runs_close(b->runs);
	fake_registry_free(b->registry);
	CHECK(access(b->path, F_OK) < 0);
	CHECK_INT(rmdir(b->dir), 0);
}
#define BENCH cleanup(bench_done) struct bench

static int dial(const struct bench *b)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)strcpy(address.sun_path, b->path);
	CHECK_INT(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static void turn(struct bench *b)
{
	(void)uv_run(&b->loop, UV_RUN_NOWAIT);
}

static void say(struct bench *b, int fd, const char *text, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t n = send(fd, text + at, bytes - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			break;
		at += n > 0 ? (size_t)n : 0;
		turn(b);
	}
}

static void say_text(struct bench *b, int fd, const char *text)
{
	say(b, fd, text, strlen(text));
}

/* Read until @n lines came or the end, which adds "<end>". */
static void hear(struct bench *b, int fd, int n, struct buf *out)
{
	for (int i = 0; i < TURNS; i++) {
		char data[1 << 16];
		ssize_t got = read(fd, data, sizeof data);
		if (got > 0)
			(void)buf_append(out, data, (size_t)got);
		for (ssize_t j = 0; j < got; j++)
			n -= data[j] == '\n';
		if (got == 0)
			(void)buf_add(out, "<end>");
		if (got == 0 || n <= 0)
			return;
		turn(b);
		(void)usleep(got > 0 ? 0 : 500);
	}
	(void)buf_add(out, "<nothing>");
}
#define HEARD cleanup_buf struct buf

#define CALL(id, method, params)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}\n"

TEST(a_message_may_come_byte_by_byte)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20);
	const char *text = CALL("1", "session.create", "{\"name\":\"a\"}") "\r\n" CALL(
		"\"x\"", "session.get", "{\"session\":\"a\"}");
	for (const char *at = text; *at; at++)
		say(&b, fd, at, 1);
	hear(&b, fd, 2, &out);
	CHECK_HAS(buf_str(&out), "\"id\":1,\"result\":{\"session\":\"s-1\"");
	CHECK_HAS(buf_str(&out), "\"id\":\"x\",\"result\":{\"session\":\"s-1\"");
}

TEST(several_messages_in_one_read_and_garbage_between)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20);
	say_text(&b, fd,
		CALL("1", "session.list", "{}") "garbage\n" CALL("2", "no.such", "{}") CALL("3",
			"session.get", "{\"session\":5}") "[]\n" CALL("4", "session.list", "{}"));
	hear(&b, fd, 6, &out);
	CHECK_HAS(buf_str(&out), "\"id\":1,\"result\"");
	CHECK_HAS(buf_str(&out), "\"id\":null,\"error\":{\"code\":-32700");
	CHECK_HAS(buf_str(&out), "\"id\":2,\"error\":{\"code\":-32601");
	CHECK_HAS(buf_str(&out), "\"id\":3,\"error\":{\"code\":-32602");
	CHECK_HAS(buf_str(&out), "\"id\":null,\"error\":{\"code\":-32600");
	CHECK_HAS(buf_str(&out), "\"id\":4,\"result\"");
}

TEST(a_notification_gets_no_answer)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20);
	say_text(&b, fd,
		"{\"jsonrpc\":\"2.0\",\"method\":\"session.create\"}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"no.such\"}\n" CALL("9", "session.list", "{}"));
	hear(&b, fd, 1, &out);
	CHECK_HAS(buf_str(&out), "\"id\":9,\"result\":{\"sessions\":[{\"session\":\"s-1\"");
	CHECK(strchr(buf_str(&out), '\n') == out.data + out.bytes - 1);
}

TEST(events_come_when_asked_for_and_before_the_answer)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20), quiet = BUF_INIT(1 << 20);
	say_text(&b, fd,
		CALL("1", "session.create", "{}") CALL("2", "step.run",
			"{\"session\":\"s-1\",\"code\":\"print q\",\"stream\":true}"));
	hear(&b, fd, 4, &out);
	const char *event =
		strstr(buf_str(&out), "\"id\":2,\"event\":\"stdout\",\"text\":\"q\\n\"");
	const char *answer = strstr(buf_str(&out), "\"id\":2,\"result\"");
	CHECK(event && answer && event < answer);
	CHECK(!strstr(buf_str(&out), "step.finished"));
	say_text(&b, fd, CALL("3", "step.run", "{\"session\":\"s-1\",\"code\":\"print q\"}"));
	hear(&b, fd, 1, &quiet);
	CHECK(!strstr(buf_str(&quiet), "\"event\""));
}

TEST(a_message_without_an_end_is_cut_off)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20);
	enum { BYTES = 1 << 20 };
	char *text = malloc(BYTES);
	memset(text, ' ', BYTES);
	for (int i = 0; i < (RPC_LINE_BYTES >> 20) + 1; i++)
		say(&b, fd, text, BYTES);
	free(text);
	hear(&b, fd, 100, &out);
	CHECK_HAS(buf_str(&out), "a message over 64 MiB");
	CHECK_HAS(buf_str(&out), "<end>");
}

TEST(what_is_owed_is_written_after_the_client_said_all)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20);
	/* The last line lacks its end. */
	say_text(&b, fd, CALL("1", "session.create", "{}"));
	say_text(&b, fd, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session.list\"}");
	(void)shutdown(fd, SHUT_WR);
	hear(&b, fd, 100, &out);
	CHECK_HAS(buf_str(&out), "\"id\":1,\"result\"");
	CHECK_HAS(buf_str(&out), "\"id\":2,\"result\"");
	CHECK_HAS(buf_str(&out), "<end>");
}

/* The state of session s-1 as another client sees it, after some time. */
static bool is_running(struct bench *b)
{
	cleanup_fd int fd = dial(b);
	HEARD out = BUF_INIT(1 << 20);
	for (int i = 0; i < 20; i++) {
		turn(b);
		(void)usleep(500);
	}
	say_text(b, fd, CALL("1", "session.get", "{\"session\":\"s-1\"}"));
	hear(b, fd, 1, &out);
	return strstr(buf_str(&out), "\"state\":\"running\"") != NULL;
}

TEST(a_client_that_goes_away_takes_its_step_along)
{
	BENCH b;
	bench_open(&b);
	int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20);
	say_text(&b, fd,
		CALL("1", "session.create", "{}")
			CALL("2", "step.run", "{\"session\":\"s-1\",\"code\":\"wait\"}"));
	hear(&b, fd, 1, &out);
	CHECK(is_running(&b));
	fd_close(&fd);
	CHECK(!is_running(&b));
}

TEST(but_not_a_detached_one)
{
	BENCH b;
	bench_open(&b);
	int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20);
	struct err err;
	say_text(&b, fd,
		CALL("1", "session.create", "{}") CALL("2", "step.run",
			"{\"session\":\"s-1\",\"code\":\"wait\",\"detach\":true}"));
	hear(&b, fd, 1, &out);
	fd_close(&fd);
	CHECK(is_running(&b));
	CHECK_INT(registry_interrupt(b.registry, "s-1", &err), 0);
	CHECK(!is_running(&b));
}

TEST(a_step_is_cancelled_by_its_id)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(1 << 20), later = BUF_INIT(1 << 20);
	say_text(&b, fd,
		CALL("1", "session.create", "{}")
			CALL("\"w\"", "step.run", "{\"session\":\"s-1\",\"code\":\"wait\"}"));
	hear(&b, fd, 1, &out);
	say_text(&b, fd, CALL("5", "$/cancel", "{\"id\":7}"));
	CHECK(is_running(&b));
	say_text(&b, fd, CALL("6", "$/cancel", "{\"id\":\"w\"}"));
	hear(&b, fd, 3, &later);
	CHECK_HAS(buf_str(&later), "\"id\":6,\"result\":{}");
	CHECK_HAS(buf_str(&later), "\"id\":\"w\",\"result\"");
	CHECK_HAS(buf_str(&later), "\"status\":\"killed\"");
}

TEST(a_client_that_does_not_read_costs_a_bounded_amount)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(64 << 20);
	say_text(&b, fd, CALL("1", "session.create", "{}"));
	hear(&b, fd, 1, &out);
	/* 8 MiB of events: told up to the soft limit, then no more; the record has them all. */
	say_text(&b, fd,
		CALL("2", "step.run",
			"{\"session\":\"s-1\",\"code\":\"flood 8192\",\"stream\":true}"));
	for (int i = 0; i < 50; i++)
		turn(&b);
	HEARD all = BUF_INIT(64 << 20);
	size_t n_events = 0;
	while (!strstr(buf_str(&all) + (all.bytes > 4000 ? all.bytes - 4000 : 0), "\"usage\"") &&
		all.bytes < 40 << 20 && !strstr(buf_str(&all), "<nothing>"))
		hear(&b, fd, 1000, &all);
	for (const char *at = buf_str(&all); (at = strstr(at, "\"event\":\"stdout\"")); at++)
		n_events++;
	CHECK(n_events > 100 && n_events < 4096);
	CHECK(all.bytes > 8 << 20 && all.bytes < 12 << 20);
}

static void on_connection_closed(void *arg, struct connection *c)
{
	bool *is_closed = arg;
	(void)c;
	*is_closed = true;
}

TEST(an_answer_that_does_not_fit_becomes_an_error)
{
	BENCH b;
	bench_open(&b);
	int ends[2];
	bool is_closed = false;
	HEARD out = BUF_INIT(64 << 20);
	const struct connection_config config = {.loop = &b.loop,
		.context = &b.context,
		.hard_bytes = 5 << 20,
		.arg = &is_closed,
		.closed = on_connection_closed};
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	cleanup_fd int fd = ends[0];
	const struct connection *c = connection_open(ends[1], &config);
	CHECK(c != NULL);
	/* Two answers of 4 MiB, and there is room for one. */
	say_text(&b, fd,
		CALL("1", "session.create", "{}") CALL("2", "session.create", "{}")
			CALL("3", "step.run", "{\"session\":\"s-1\",\"code\":\"flood 4096\"}") CALL(
				"4", "step.run", "{\"session\":\"s-2\",\"code\":\"flood 4096\"}"));
	/* Nothing is read until both are answered. */
	for (int i = 0, n_most = 0; i < TURNS && (n_most < 2 || connection_n_running(c) > 1); i++) {
		n_most = MAX(n_most, (int)connection_n_running(c));
		turn(&b);
		(void)usleep(500);
	}
	hear(&b, fd, 4, &out);
	CHECK_HAS(buf_str(&out), "the answer is too long to be sent");
	CHECK_HAS(buf_str(&out), "\"usage\"");
	CHECK(!strstr(buf_str(&out), "<end>"));
	say_text(&b, fd, CALL("5", "engine.info", "{}"));
	hear(&b, fd, 1, &out);
	CHECK_HAS(buf_str(&out), "\"id\":5,\"result\"");
	fd_close(&fd);
	for (int i = 0; i < TURNS && !is_closed; i++)
		turn(&b);
	CHECK(is_closed);
}

TEST(requests_wait_while_answers_are_not_taken)
{
	BENCH b;
	bench_open(&b);
	cleanup_fd int fd = dial(&b);
	HEARD out = BUF_INIT(64 << 20);
	static const char question[] = CALL("3", "engine.info", "{}");
	size_t n_sent = 0;
	/* Never reading: the engine stops reading as well, and then nothing more goes in. */
	for (int n_refused = 0; n_refused < 500 && n_sent < 100000;) {
		ssize_t n = send(fd, question, sizeof question - 1, MSG_NOSIGNAL);
		n_refused = n > 0 ? 0 : n_refused + 1;
		n_sent += n > 0;
		turn(&b);
	}
	CHECK(n_sent > 1000 && n_sent < 30000);
	hear(&b, fd, 1000, &out);
	CHECK_HAS(buf_str(&out), "\"id\":3,\"result\"");
}

TEST(places_that_do_not_do)
{
	BENCH b;
	bench_open(&b);
	struct socket_server *s;
	struct err err;
	char path[200];
	CHECK(socket_open(&s, &b.loop, b.path, &b.context, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_HAS(err.msg, "already");
	memset(path, 'x', sizeof path);
	path[0] = '/';
	path[150] = '\0';
	CHECK(socket_open(&s, &b.loop, path, &b.context, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	CHECK_HAS(err.msg, "150 bytes, limit 107");
	CHECK(socket_open(&s, &b.loop, "", &b.context, &err) < 0);
	CHECK(socket_open(&s, &b.loop, "/nonexistent/s", &b.context, &err) < 0);
	CHECK_INT(err.code, ERR_NOT_FOUND);
	snprintf(path, sizeof path, "%s/file", b.dir);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	fd_close(&fd);
	CHECK(socket_open(&s, &b.loop, path, &b.context, &err) < 0);
	CHECK_HAS(err.msg, "not a socket");
	CHECK_INT(unlink(path), 0);
}

TEST(the_socket_of_a_dead_engine_is_replaced)
{
	struct bench b;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	bench_open(&b);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/old", b.dir);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	fd_close(&fd);
	struct socket_server *s = NULL;
	struct err err;
	CHECK_INT(socket_open(&s, &b.loop, address.sun_path, &b.context, &err), 0);
	CHECK_INT(stat(address.sun_path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	bool is_closed = false;
	socket_close(s, on_closed, &b);
	while (!b.is_closed)
		turn(&b);
	b.is_closed = is_closed;
	CHECK(access(address.sun_path, F_OK) < 0);
	bench_done(&b);
}
