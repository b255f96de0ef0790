/* Output of a program: kept at both ends, or held back until it is taken; nothing is lost or read
 * twice. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "session/process/stream.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 64 << 10, LIMIT_BYTES = 1000, TURNS = 1000000, MUCH_BYTES = 3 << 20 };

struct bench {
	uv_loop_t loop;
	struct stream s;
	int writer;
	unsigned n_changes, n_closed;
	char *chunk;
};

static void on_change(struct stream *s)
{
	container_of(s, struct bench, s)->n_changes++;
}

static void open_on(struct bench *b, int reader, int writer, uint64_t limit, bool is_held)
{
	struct err err;
	/* A stream that is over is closed. */
	(void)signal(SIGPIPE, SIG_IGN);
	*b = (struct bench){.writer = writer, .chunk = malloc(CHUNK_BYTES)};
	CHECK_INT(uv_loop_init(&b->loop), 0);
	b->s = (struct stream){.fd = -1,
		.changed = on_change,
		.is_held = is_held,
		.chunk = b->chunk,
		.chunk_bytes = CHUNK_BYTES};
	CHECK_INT(stream_open(&b->s, &b->loop, reader, limit, &err), 0);
}

static void bench_open(struct bench *b, uint64_t limit, bool is_held)
{
	int ends[2];
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(fd_set_nonblock(ends[1], true), 0);
	open_on(b, ends[0], ends[1], limit, is_held);
}

static void on_closed(uv_handle_t *handle)
{
	((struct bench *)handle->data)->n_closed++;
}

static void bench_done(struct bench *b)
{
	CHECK(stream_close(&b->s, b, on_closed));
	CHECK(!stream_close(&b->s, b, on_closed));
	(void)uv_run(&b->loop, UV_RUN_DEFAULT);
	CHECK_INT(b->n_closed, 1);
	stream_done(&b->s);
	CHECK_INT(b->s.fd, -1);
	fd_close(&b->writer);
	CHECK_INT(uv_loop_close(&b->loop), 0);
	free(b->chunk);
}
#define BENCH cleanup(bench_done) struct bench

/* The byte at an offset of a stream whose bytes are all known. */
static char byte_at(uint64_t offset)
{
	return (char)(offset * 31 + offset / 257);
}

/* Write from *@at up to @end, as far as the pipe has room. */
static void feed(struct bench *b, uint64_t *at, uint64_t end)
{
	char some[4096];
	ssize_t n = 1;
	while (*at < end && n > 0) {
		size_t bytes = (size_t)MIN(end - *at, (uint64_t)sizeof some);
		for (size_t i = 0; i < bytes; i++)
			some[i] = byte_at(*at + i);
		n = write(b->writer, some, bytes);
		*at += n > 0 ? (uint64_t)n : 0;
	}
}

static void turn(struct bench *b)
{
	(void)uv_run(&b->loop, UV_RUN_NOWAIT);
}

/* Let the loop run until it has nothing more to read. */
static void settle(struct bench *b)
{
	uint64_t seen;
	do {
		seen = b->s.kept.total_bytes;
		turn(b);
	} while (b->s.kept.total_bytes != seen);
}

static void check_bytes(const char *data, uint64_t offset, size_t n)
{
	size_t n_wrong = 0;
	for (size_t i = 0; i < n; i++)
		n_wrong += data[i] != byte_at(offset + i);
	CHECK_INT(n_wrong, 0);
}

TEST(what_nobody_takes_is_kept_at_both_ends)
{
	BENCH b;
	char out[LIMIT_BYTES];
	uint64_t at = 0, from = 0;
	bench_open(&b, LIMIT_BYTES, false);
	while (at < MUCH_BYTES) {
		feed(&b, &at, MUCH_BYTES);
		turn(&b);
	}
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, MUCH_BYTES);
	CHECK(b.n_changes > 0);
	CHECK_INT(capture_read(&b.s.kept, &from, out, sizeof out), LIMIT_BYTES / 2);
	check_bytes(out, 0, LIMIT_BYTES / 2);
	from = LIMIT_BYTES / 2;
	CHECK_INT(capture_read(&b.s.kept, &from, out, sizeof out), LIMIT_BYTES / 2);
	CHECK_INT(from, MUCH_BYTES - LIMIT_BYTES / 2);
	check_bytes(out, from, LIMIT_BYTES / 2);
}

TEST(a_held_program_waits_until_output_is_taken)
{
	BENCH b;
	uint64_t at = 0, full;
	bench_open(&b, LIMIT_BYTES, true);
	do {
		full = at;
		feed(&b, &at, MUCH_BYTES);
		settle(&b);
	} while (at > full);
	/* What is kept and what a pipe holds, and no more. */
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES);
	CHECK(at < MUCH_BYTES);
	CHECK_INT(write(b.writer, "x", 1), -1);
	/* The head is kept in any case: to take it makes no room. */
	stream_take(&b.s, LIMIT_BYTES / 2);
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES);
	stream_take(&b.s, LIMIT_BYTES / 2 + 10);
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES + 10);
	/* Who is behind takes nothing back. */
	stream_take(&b.s, 3);
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES + 10);
	stream_take(&b.s, LIMIT_BYTES + 10);
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES + 10 + LIMIT_BYTES / 2);
}

/* A reader that takes @step bytes at a time gets all of a held stream. */
static void take_all(uint64_t limit, size_t step)
{
	BENCH b;
	const uint64_t all = 40 * limit + (64 << 10);
	char *out = malloc(step);
	uint64_t at = 0, got = 0;
	bench_open(&b, limit, true);
	for (int i = 0; i < TURNS && got < all; i++) {
		uint64_t from = got;
		feed(&b, &at, all);
		turn(&b);
		size_t n = capture_read(&b.s.kept, &from, out, step);
		if (n == 0)
			continue;
		if (!CHECK_INT(from, got))
			break;
		check_bytes(out, from, n);
		got += n;
		stream_take(&b.s, got);
	}
	CHECK_INT(got, all);
	free(out);
}

TEST(nothing_of_a_held_stream_is_lost)
{
	static const uint64_t limits[] = {2, 3, 64, 1001, 4096, 100000};
	static const size_t steps[] = {1, 7, 500, 5000, 200000};
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		for (size_t k = 0; k < ARRAY_LEN(steps); k++)
			if (40 * limits[i] < 100000 * steps[k])
				take_all(limits[i], steps[k]);
}

/* At the end of a program is_dry decides whether all of its output was read. */
TEST(a_held_stream_that_is_full_is_not_dry)
{
	BENCH b;
	uint64_t at = 0;
	bench_open(&b, LIMIT_BYTES, true);
	feed(&b, &at, LIMIT_BYTES);
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES);
	CHECK(b.s.is_dry);
	feed(&b, &at, LIMIT_BYTES + 50);
	stream_drain(&b.s);
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES);
	CHECK(!b.s.is_dry);
	stream_take(&b.s, LIMIT_BYTES);
	CHECK(!b.s.is_dry);
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES + 50);
	CHECK(b.s.is_dry);
	/* Full and empty again: whoever takes it learns that this was all. */
	feed(&b, &at, LIMIT_BYTES + LIMIT_BYTES / 2);
	settle(&b);
	stream_drain(&b.s);
	CHECK(!b.s.is_dry);
	stream_take(&b.s, LIMIT_BYTES + LIMIT_BYTES / 2);
	CHECK(b.s.is_dry);
}

static void on_alarm(int number)
{
	(void)number;
}

/* poll(2) fails with EINTR if a signal is pending, also if it does not wait. */
TEST(signals_do_not_hide_that_a_stream_is_dry)
{
	BENCH b;
	uint64_t at = 0;
	unsigned n_wet = 0;
	const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	const struct itimerval often = {.it_interval.tv_usec = 20, .it_value.tv_usec = 20};
	bench_open(&b, LIMIT_BYTES, false);
	CHECK_INT(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_INT(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < 5000; i++) {
		feed(&b, &at, at + 1);
		for (int k = 0; k < TURNS && b.s.kept.total_bytes < at; k++)
			turn(&b);
		n_wet += !b.s.is_dry;
	}
	CHECK_INT(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL), 0);
	CHECK_INT(b.s.kept.total_bytes, at);
	CHECK_INT(n_wet, 0);
}

TEST(a_stream_that_is_no_longer_held_runs_on)
{
	BENCH b;
	uint64_t at = 0;
	bench_open(&b, LIMIT_BYTES, true);
	feed(&b, &at, MUCH_BYTES);
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, LIMIT_BYTES);
	stream_release(&b.s);
	for (int i = 0; i < TURNS && at < MUCH_BYTES; i++) {
		feed(&b, &at, MUCH_BYTES);
		turn(&b);
	}
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, MUCH_BYTES);
}

TEST(the_end_is_told_once_and_after_all_output)
{
	BENCH b;
	uint64_t at = 0;
	bench_open(&b, 1 << 20, false);
	feed(&b, &at, 10000);
	settle(&b);
	unsigned n = b.n_changes;
	CHECK_INT(b.s.kept.total_bytes, 10000);
	fd_close(&b.writer);
	for (int i = 0; i < TURNS && !b.s.is_over; i++)
		turn(&b);
	CHECK(b.s.is_over);
	CHECK_INT(b.n_changes, ++n);
	turn(&b);
	stream_drain(&b.s);
	stream_take(&b.s, 10000);
	stream_release(&b.s);
	turn(&b);
	CHECK_INT(b.n_changes, n);
}

TEST(a_held_stream_ends_after_all_was_taken)
{
	BENCH b;
	uint64_t at = 0;
	bench_open(&b, 100, true);
	feed(&b, &at, 10000);
	fd_close(&b.writer);
	settle(&b);
	CHECK(!b.s.is_over);
	for (uint64_t taken = 0; taken < 10000; taken += 50) {
		stream_take(&b.s, taken);
		settle(&b);
		CHECK(b.s.kept.total_bytes <= taken + 100);
	}
	stream_take(&b.s, 10000);
	settle(&b);
	CHECK(b.s.is_over);
	CHECK_INT(b.s.kept.total_bytes, 10000);
}

TEST(drain_reads_what_is_there_without_the_loop)
{
	BENCH b;
	uint64_t at = 0;
	bench_open(&b, 1 << 20, false);
	feed(&b, &at, 100000);
	stream_drain(&b.s);
	CHECK_INT(b.s.kept.total_bytes, 100000);
	/* Nothing waits, although the other end is open: whoever holds it may write later. */
	CHECK(b.s.is_dry);
	CHECK(!b.s.is_over);
	/* After one read, too, it is known that nothing else waits. */
	feed(&b, &at, 100001);
	turn(&b);
	CHECK_INT(b.s.kept.total_bytes, 100001);
	CHECK(b.s.is_dry);
	feed(&b, &at, 100001 + 2 * CHUNK_BYTES);
	turn(&b);
	CHECK(!b.s.is_dry);
}

TEST(a_stopped_stream_reads_no_more)
{
	BENCH b;
	uint64_t at = 0;
	bench_open(&b, LIMIT_BYTES, false);
	feed(&b, &at, 100);
	settle(&b);
	stream_stop(&b.s);
	/* Nobody reads the pipe any more, and who writes to it learns that. */
	(void)signal(SIGPIPE, SIG_IGN);
	CHECK_INT(write(b.writer, "x", 1), -1);
	CHECK_INT(errno, EPIPE);
	settle(&b);
	stream_drain(&b.s);
	stream_release(&b.s);
	settle(&b);
	CHECK_INT(b.s.kept.total_bytes, 100);
	CHECK(b.s.is_over);
	/* The program's end is closed, and the number of the descriptor stays taken. */
	CHECK_INT(write(b.writer, "x", 1), -1);
	CHECK_INT(errno, EPIPE);
	CHECK(fcntl(b.s.fd, F_GETFD) >= 0);
}

TEST(a_terminal_ends_when_its_last_program_closes_it)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), unlocked = 0;
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0) {
		t_skip("this host has no terminals");
		fd_close(&master);
		return;
	}
	BENCH b;
	open_on(&b, master, ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC), 4096, false);
	CHECK_INT(write(b.writer, "bye\n", 4), 4);
	fd_close(&b.writer);
	for (int i = 0; i < TURNS && !b.s.is_over; i++)
		turn(&b);
	CHECK(b.s.is_over);
	CHECK_INT(b.s.kept.total_bytes, 5); /* with a carriage return */
}

TEST(a_stream_that_was_never_opened_has_nothing_to_close)
{
	struct stream s = {.fd = -1};
	CHECK(!stream_close(&s, NULL, on_closed));
	stream_drain(&s);
	stream_take(&s, 5);
	stream_release(&s);
	stream_done(&s);
}
