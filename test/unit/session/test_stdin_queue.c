/* A step's input while it stays open: bounded, in order, and what went in is known.
 * SPDX-License-Identifier: Apache-2.0 */
#include "session/box/stdin_queue.h"

#include "base/fd.h"
#include "t.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 10000, PIPE_BYTES = 64 << 10 };

struct bench {
	uv_loop_t loop;
	struct stdin_queue *in;
	int reader;
};

static void bench_open(struct bench *b)
{
	struct err err;
	(void)signal(SIGPIPE, SIG_IGN);
	CHECK_INT(uv_loop_init(&b->loop), 0);
	CHECK_INT(stdin_queue_open(&b->in, &b->loop, &err), 0);
	b->reader = stdin_queue_take_reader(b->in);
	CHECK(b->reader >= 0);
	CHECK_INT(stdin_queue_take_reader(b->in), -1);
}

static void bench_done(struct bench *b)
{
	stdin_queue_close(b->in);
	fd_close(&b->reader);
	(void)uv_run(&b->loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b->loop), 0);
}
#define BENCH cleanup(bench_done) struct bench

static int put(struct bench *b, const char *text, struct err *err)
{
	return stdin_queue_put(b->in, text, strlen(text), false, err);
}

TEST(what_is_written_is_read_and_then_the_end)
{
	BENCH b;
	struct err err;
	char text[16] = "";
	bench_open(&b);
	CHECK_INT(put(&b, "one", &err), 0);
	CHECK_INT(put(&b, " two", &err), 0);
	CHECK(stdin_queue_is_open(b.in));
	stdin_queue_end(b.in);
	CHECK(!stdin_queue_is_open(b.in));
	CHECK_INT(read(b.reader, text, sizeof text), 7);
	CHECK_STR(text, "one two");
	CHECK_INT(read(b.reader, text, sizeof text), 0);
	CHECK(put(&b, "x", &err) < 0);
	CHECK_INT(err.code, ERR_GONE);
}

TEST(what_nobody_reads_waits_up_to_a_bound)
{
	BENCH b;
	struct err err;
	size_t bytes, got = 0;
	char *block = malloc(STDIN_QUEUE_BYTES);
	memset(block, 'x', STDIN_QUEUE_BYTES);
	bench_open(&b);
	CHECK_INT(stdin_queue_put(b.in, block, STDIN_QUEUE_BYTES, false, &err), 0);
	CHECK(stdin_queue_bytes(b.in) > 0);
	CHECK(stdin_queue_put(b.in, block, STDIN_QUEUE_BYTES, false, &err) < 0);
	CHECK_INT(err.code, ERR_BUSY);
	/* Only what is in the pipe went in. */
	(void)stdin_queue_text(b.in, &bytes);
	CHECK_INT(bytes, STDIN_QUEUE_BYTES - stdin_queue_bytes(b.in));
	stdin_queue_end(b.in);
	for (int i = 0; i < TURNS && got < STDIN_QUEUE_BYTES; i++) {
		ssize_t n = read(b.reader, block, PIPE_BYTES);
		CHECK(n > 0);
		got += (size_t)n;
		(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	}
	CHECK_INT(got, STDIN_QUEUE_BYTES);
	CHECK_INT(read(b.reader, block, 1), 0);
	free(block);
}

TEST(in_all_there_is_a_bound_too)
{
	BENCH b;
	struct err err;
	char *block = malloc(STDIN_QUEUE_TOTAL_BYTES);
	memset(block, 'x', STDIN_QUEUE_TOTAL_BYTES);
	bench_open(&b);
	CHECK_INT(stdin_queue_put(b.in, block, STDIN_QUEUE_TOTAL_BYTES - 1, true, &err), 0);
	CHECK(stdin_queue_put(b.in, "xx", 2, true, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	free(block);
}

TEST(a_reader_that_goes_away_is_noticed)
{
	BENCH b;
	struct err err;
	size_t bytes;
	bench_open(&b);
	CHECK_INT(put(&b, "read\n", &err), 0);
	fd_close(&b.reader);
	CHECK_INT(put(&b, "not read\n", &err), 0);
	CHECK(!stdin_queue_is_open(b.in));
	CHECK_INT(stdin_queue_bytes(b.in), 0);
	CHECK_STR(stdin_queue_text(b.in, &bytes), "read\nnot read\n");
	CHECK_INT(bytes, 5);
	CHECK(put(&b, "x", &err) < 0);
	CHECK_HAS(err.hint, "does not read");
}
