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
	struct inlet *in;
	int reader;
};

static void bench_open(struct bench *b)
{
	struct err err;
	(void)signal(SIGPIPE, SIG_IGN);
	CHECK_INT(uv_loop_init(&b->loop), 0);
	CHECK_INT(inlet_open(&b->in, &b->loop, &err), 0);
	b->reader = inlet_take_reader(b->in);
	CHECK(b->reader >= 0);
	CHECK_INT(inlet_take_reader(b->in), -1);
}

static void bench_done(struct bench *b)
{
	inlet_close(b->in);
	fd_close(&b->reader);
	(void)uv_run(&b->loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&b->loop), 0);
}
#define BENCH cleanup(bench_done) struct bench

static int put(struct bench *b, const char *text, struct err *err)
{
	return inlet_put(b->in, text, strlen(text), false, err);
}

TEST(what_is_written_is_read_and_then_the_end)
{
	BENCH b;
	struct err err;
	char text[16] = "";
	bench_open(&b);
	CHECK_INT(put(&b, "one", &err), 0);
	CHECK_INT(put(&b, " two", &err), 0);
	CHECK(inlet_is_open(b.in));
	inlet_end(b.in);
	CHECK(!inlet_is_open(b.in));
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
	char *block = malloc(INLET_QUEUE_BYTES);
	memset(block, 'x', INLET_QUEUE_BYTES);
	bench_open(&b);
	CHECK_INT(inlet_put(b.in, block, INLET_QUEUE_BYTES, false, &err), 0);
	CHECK(inlet_queued(b.in) > 0);
	CHECK(inlet_put(b.in, block, INLET_QUEUE_BYTES, false, &err) < 0);
	CHECK_INT(err.code, ERR_BUSY);
	/* Only what is in the pipe went in. */
	(void)inlet_text(b.in, &bytes);
	CHECK_INT(bytes, INLET_QUEUE_BYTES - inlet_queued(b.in));
	inlet_end(b.in);
	for (int i = 0; i < TURNS && got < INLET_QUEUE_BYTES; i++) {
		ssize_t n = read(b.reader, block, PIPE_BYTES);
		CHECK(n > 0);
		got += (size_t)n;
		(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	}
	CHECK_INT(got, INLET_QUEUE_BYTES);
	CHECK_INT(read(b.reader, block, 1), 0);
	free(block);
}

TEST(in_all_there_is_a_bound_too)
{
	BENCH b;
	struct err err;
	char *block = malloc(INLET_BYTES);
	memset(block, 'x', INLET_BYTES);
	bench_open(&b);
	CHECK_INT(inlet_put(b.in, block, INLET_BYTES - 1, true, &err), 0);
	CHECK(inlet_put(b.in, "xx", 2, true, &err) < 0);
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
	CHECK(!inlet_is_open(b.in));
	CHECK_INT(inlet_queued(b.in), 0);
	CHECK_STR(inlet_text(b.in, &bytes), "read\nnot read\n");
	CHECK_INT(bytes, 5);
	CHECK(put(&b, "x", &err) < 0);
	CHECK_HAS(err.hint, "does not read");
}
