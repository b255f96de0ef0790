/* Output to readers that are slow, stopped, gone, or share a non-blocking pipe.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/sink.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BIG_BYTES = 1 << 20, PIPE_BYTES = 16 << 10 };

struct pipe_pair {
	int reader, writer;
};

static struct pipe_pair pipe_new(void)
{
	int ends[2];
	(void)signal(SIGPIPE, SIG_IGN);
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	return (struct pipe_pair){ends[0], ends[1]};
}

static void pipe_done(struct pipe_pair *p)
{
	fd_close(&p->reader);
	fd_close(&p->writer);
}
#define PIPE cleanup(pipe_done) struct pipe_pair
#define SINK cleanup(sink_done) struct sink

struct reading {
	int fd;
	size_t bytes;
	unsigned sum; /* depends on the order */
};

static void *read_slowly(void *arg)
{
	struct reading *r = arg;
	static unsigned char data[5000];
	for (ssize_t n; (n = read(r->fd, data, sizeof data)) > 0; r->bytes += (size_t)n) {
		for (ssize_t i = 0; i < n; i++)
			r->sum = r->sum * 31 + data[i];
		(void)usleep(100);
	}
	return NULL;
}

static char *pattern(unsigned *sum)
{
	unsigned char *data = malloc(BIG_BYTES);
	*sum = 0;
	for (size_t i = 0; i < BIG_BYTES; i++) {
		data[i] = (unsigned char)(i * 7 + i / 251);
		*sum = *sum * 31 + data[i];
	}
	return (char *)data;
}

TEST(small_output_goes_out_at_once)
{
	PIPE p = pipe_new();
	SINK s;
	char got[16] = "";
	sink_init(&s, p.writer, 100);
	sink_add(&s, "one ", 4);
	sink_add(&s, "", 0);
	sink_add(&s, "two", 3);
	CHECK_INT(s.waiting.bytes, 0);
	CHECK_INT(read(p.reader, got, sizeof got - 1), 7);
	CHECK_STR(got, "one two");
	CHECK_INT(sink_flush(&s), 0);
}

/* Nobody reads: adding never waits, and what is read later is all there and in order. */
static void check_slow_reader(bool is_nonblocking)
{
	PIPE p = pipe_new();
	SINK s;
	unsigned sum;
	char *data = pattern(&sum);
	struct reading r = {.fd = p.reader};
	pthread_t thread;
	CHECK_INT(fd_set_nonblock(p.writer, is_nonblocking), 0);
	sink_init(&s, p.writer, BIG_BYTES);
	for (size_t at = 0; at < BIG_BYTES; at += 10000)
		sink_add(&s, data + at, MIN(BIG_BYTES - at, (size_t)10000));
	CHECK_INT(s.error, 0);
	/* Pages that were written by less than a page are not filled up. */
	CHECK(s.waiting.bytes >= BIG_BYTES - PIPE_BYTES && s.waiting.bytes < BIG_BYTES);
	CHECK_INT(pthread_create(&thread, NULL, read_slowly, &r), 0);
	CHECK_INT(sink_flush(&s), 0);
	CHECK_INT(s.waiting.bytes, 0);
	fd_close(&p.writer);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(r.bytes, BIG_BYTES);
	CHECK_INT(r.sum, sum);
	free(data);
}

TEST(slow_reader)
{
	check_slow_reader(false);
}

/* Whoever started us may have made our stdout non-blocking: no reason to lose output. */
TEST(slow_reader_of_a_nonblocking_pipe)
{
	check_slow_reader(true);
}

TEST(over_the_limit_is_broken)
{
	PIPE p = pipe_new();
	SINK s;
	unsigned sum;
	char *data = pattern(&sum);
	sink_init(&s, p.writer, 1000);
	sink_add(&s, data, PIPE_BYTES + 1000);
	CHECK_INT(s.error, 0);
	CHECK_INT(s.waiting.bytes, 1000);
	sink_add(&s, data, 1);
	CHECK_INT(s.error, ENOBUFS);
	CHECK_INT(sink_flush(&s), -ENOBUFS);
	free(data);
}

TEST(reader_that_is_gone)
{
	PIPE p = pipe_new();
	SINK s;
	sink_init(&s, p.writer, 1000);
	fd_close(&p.reader);
	sink_add(&s, "x", 1);
	CHECK_INT(s.error, EPIPE);
	sink_add(&s, "y", 1);
	CHECK_INT(s.waiting.bytes, 0);
	CHECK_INT(sink_flush(&s), -EPIPE);
}

TEST(reader_that_goes_while_output_waits)
{
	PIPE p = pipe_new();
	SINK s;
	unsigned sum;
	char *data = pattern(&sum);
	sink_init(&s, p.writer, BIG_BYTES);
	sink_add(&s, data, 100000);
	CHECK(s.waiting.bytes > 0);
	fd_close(&p.reader);
	CHECK_INT(sink_flush(&s), -EPIPE);
	CHECK_INT(s.error, EPIPE);
	CHECK_INT(sink_flush(&s), -EPIPE);
	free(data);
}

TEST(full_disk)
{
	SINK s;
	cleanup_fd int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	sink_init(&s, full, 1000);
	sink_add(&s, "x", 1);
	CHECK_INT(s.error, ENOSPC);
	CHECK_INT(sink_flush(&s), -ENOSPC);
}
