/* Descriptors passed on sockets, whole reads and writes. SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include "t.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_open(void)
{
	int n = 0;
	DIR *dir = opendir("/proc/self/fd");
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}

struct pair {
	int a, b;
};

static struct pair pair_new(int type)
{
	int fds[2];
	CHECK_INT(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	return (struct pair){fds[0], fds[1]};
}

static void pair_done(struct pair *p)
{
	fd_close(&p->a);
	fd_close(&p->b);
}
#define PAIR cleanup(pair_done) struct pair

TEST(vacate_closes_the_file_and_keeps_the_number)
{
	int ends[2], before = count_open();
	char byte;
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	fd_vacate(ends[1]);
	/* The reader sees the end, although the number is in use. */
	CHECK_INT(read(ends[0], &byte, 1), 0);
	CHECK(fcntl(ends[1], F_GETFD) & FD_CLOEXEC);
	CHECK_INT(count_open(), before + 2);
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(next != ends[1]);
	/* What is written there goes nowhere. */
	CHECK_INT(write(ends[1], "x", 1), 1);
	CHECK_INT(read(ends[1], &byte, 1), 0);
	fd_vacate(ends[1]);
	fd_close(&next);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	CHECK_INT(count_open(), before);
}

/* Without a descriptor that is left, the file is closed all the same. */
TEST(vacate_when_no_descriptor_is_left)
{
	int ends[2];
	char byte;
	struct rlimit old, few;
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 3;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	fd_vacate(ends[1]);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &old), 0);
	CHECK_INT(read(ends[0], &byte, 1), 0);
	fd_close(&ends[0]);
}

TEST(close_and_take)
{
	int before = count_open();
	{
		cleanup_fd int one = open("/dev/null", O_RDONLY | O_CLOEXEC);
		cleanup_fd int none = -1;
		cleanup_fd int taken = open("/dev/null", O_RDONLY | O_CLOEXEC);
		int mine = take_fd(taken);
		CHECK(one >= 0 && mine >= 0);
		CHECK_INT(none, -1);
		CHECK_INT(taken, -1);
		errno = EDOM;
		fd_close(&mine);
		CHECK_INT(mine, -1);
		CHECK_INT(errno, EDOM);
	}
	CHECK_INT(count_open(), before);
}

/* Return which of the descriptors 3 to 10 are open after fd_close_others(), as bits. */
static int open_after_closing(const int *kept, size_t n)
{
	int status = 0, copy[4];
	for (size_t i = 0; i < n; i++)
		copy[i] = kept[i];
	pid_t pid = fork();
	if (pid == 0) {
		int bits = 0;
		for (int fd = 3; fd <= 10; fd++)
			(void)dup2(STDIN_FILENO, fd);
		if (fd_close_others(copy, n) < 0)
			_exit(1);
		for (int fd = 3; fd <= 10; fd++)
			bits |= (fcntl(fd, F_GETFD) >= 0) << (fd - 3);
		_exit(fcntl(STDERR_FILENO, F_GETFD) >= 0 ? bits : 1);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(all_descriptors_but_some_are_closed)
{
	CHECK_INT(open_after_closing(NULL, 0), 0);
	CHECK_INT(open_after_closing((const int[]){-1, 9, 5, 4}, 4), 1 << 6 | 1 << 2 | 1 << 1);
	CHECK_INT(open_after_closing((const int[]){10, 3, -1, 3}, 4), 1 << 7 | 1);
	CHECK_INT(open_after_closing((const int[]){2, 0}, 2), 0);
}

TEST(read_all_and_its_limit)
{
	static const struct {
		size_t bytes, max;
		ssize_t want;
	} rows[] = {{0, 0, 0}, {0, 8, 0}, {8, 8, 8}, {7, 8, 7}, {9, 8, -E2BIG}, {1, 0, -E2BIG}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int ends[2];
		char out[16] = "";
		CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
		CHECK_INT(fd_write_all(ends[1], "abcdefghijk", rows[i].bytes), 0);
		fd_close(&ends[1]);
		CHECK_INT(fd_read_all(ends[0], out, rows[i].max), rows[i].want);
		CHECK(memcmp(out, "abcdefghijk", MIN(rows[i].bytes, rows[i].max)) == 0);
		CHECK_INT(out[rows[i].max], 0);
		fd_close(&ends[0]);
	}
	char out[4];
	CHECK_INT(fd_read_all(-1, out, sizeof out), -EBADF);
}

static void *slow_reader(void *arg)
{
	static char data[64 << 10];
	int fd = *(int *)arg;
	size_t total = 0;
	for (ssize_t n; (n = read(fd, data, sizeof data)) > 0; total += (size_t)n)
		(void)usleep(200);
	return (void *)total;
}

TEST(write_all_goes_on_after_short_writes)
{
	static char data[1 << 20];
	int ends[2];
	pthread_t thread;
	void *total;
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(pthread_create(&thread, NULL, slow_reader, &ends[0]), 0);
	CHECK_INT(fd_write_all(ends[1], data, sizeof data), 0);
	fd_close(&ends[1]);
	CHECK_INT(pthread_join(thread, &total), 0);
	CHECK_INT((size_t)total, sizeof data);
	fd_close(&ends[0]);
}

TEST(write_all_errors)
{
	int ends[2];
	(void)signal(SIGPIPE, SIG_IGN);
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	fd_close(&ends[0]);
	CHECK_INT(fd_write_all(ends[1], "x", 1), -EPIPE);
	CHECK_INT(fd_write_all(ends[1], "x", 0), 0);
	fd_close(&ends[1]);
	cleanup_fd int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CHECK_INT(fd_write_all(full, "x", 1), -ENOSPC);
	(void)signal(SIGPIPE, SIG_DFL);
}

TEST(only_regular_files_are_opened_and_nothing_is_waited_for)
{
	char dir[] = "/tmp/retort-unit-XXXXXX";
	CHECK(mkdtemp(dir) != NULL);
	CHECK_INT(chdir(dir), 0);
	CHECK_INT(mkfifo("fifo", 0600), 0);
	CHECK_INT(symlink("fifo", "link"), 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "socket"};
	cleanup_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(sock, (const struct sockaddr *)&at, sizeof at), 0);
	cleanup_fd int file = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cleanup_fd int opened = fd_open_regular("file");
	CHECK(opened >= 0);
	CHECK_INT(fcntl(opened, F_GETFD), FD_CLOEXEC);
	CHECK_INT(fd_open_regular("fifo"), -EINVAL);
	CHECK_INT(fd_open_regular("link"), -EINVAL);
	CHECK_INT(fd_open_regular("socket"), -EINVAL);
	CHECK_INT(fd_open_regular("."), -EINVAL);
	CHECK_INT(fd_open_regular("/dev/null"), -EINVAL);
	CHECK_INT(fd_open_regular("none"), -ENOENT);
	fd_close(&opened);
	if (fcntl(file, F_SETLEASE, F_WRLCK) == 0) {
		(void)signal(SIGIO, SIG_IGN);
		CHECK_INT(fd_open_regular("file"), -EAGAIN);
	}
	for (int i = 0; i < 4; i++)
		(void)unlink((const char *[]){"fifo", "link", "socket", "file"}[i]);
	CHECK_INT(chdir("/"), 0);
	CHECK_INT(rmdir(dir), 0);
}

TEST(nonblock)
{
	int ends[2];
	char c;
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(fd_set_nonblock(ends[0], true), 0);
	CHECK(read(ends[0], &c, 1) < 0 && errno == EAGAIN);
	CHECK_INT(fd_set_nonblock(ends[0], false), 0);
	CHECK_INT(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
	CHECK_INT(fd_set_nonblock(-1, true), -EBADF);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
}

/* The descriptors sent, and how many the receiver has room for. */
static void check_passing(size_t n_sent, size_t room)
{
	PAIR p = pair_new(SOCK_SEQPACKET);
	int fds[FD_PASS_MAX], got[FD_PASS_MAX + 1];
	size_t n_got = 99;
	char data[8];
	int before = count_open();
	for (size_t i = 0; i < n_sent; i++)
		fds[i] = open("/dev/null", O_RDONLY);
	CHECK_INT(fd_send(p.a, "hello", 5, fds, n_sent), 5);
	for (size_t i = 0; i < n_sent; i++)
		fd_close(&fds[i]);
	CHECK_INT(fd_recv(p.b, data, sizeof data, got, room, &n_got), 5);
	CHECK(memcmp(data, "hello", 5) == 0);
	CHECK_INT(n_got, MIN(n_sent, room));
	CHECK_INT(count_open(), before + (int)n_got);
	for (size_t i = 0; i < n_got; i++) {
		CHECK_INT(fcntl(got[i], F_GETFD), FD_CLOEXEC);
		fd_close(&got[i]);
	}
}

TEST(descriptors_arrive_and_the_rest_is_closed)
{
	for (size_t n = 0; n <= FD_PASS_MAX; n++) {
		check_passing(n, FD_PASS_MAX);
		check_passing(n, n);
		check_passing(n, n / 2);
		check_passing(n, 0);
	}
}

TEST(too_many_descriptors_are_not_sent)
{
	PAIR p = pair_new(SOCK_SEQPACKET);
	const int fds[FD_PASS_MAX + 1] = {0};
	char c;
	CHECK_INT(fd_send(p.a, "x", 1, fds, FD_PASS_MAX + 1), -EINVAL);
	CHECK_INT(fd_recv(p.b, &c, 1, NULL, 0, NULL), -EAGAIN);
}

TEST(nobody_wants_the_descriptors)
{
	static const int types[] = {SOCK_SEQPACKET, SOCK_STREAM};
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		PAIR p = pair_new(types[i]);
		char c;
		int before = count_open();
		CHECK_INT(fd_send(p.a, "x", 1, &p.a, 1), 1);
		CHECK_INT(fd_recv(p.b, &c, 1, NULL, 0, NULL), -EPROTO);
		CHECK_INT(count_open(), before);
		CHECK_INT(fd_send(p.a, "y", 1, NULL, 0), 1);
		CHECK_INT(fd_recv(p.b, &c, 1, NULL, 0, NULL), 1);
		CHECK_INT(c, 'y');
		fd_refuse_passed(p.b);
		ssize_t n = fd_send(p.a, "x", 1, &p.a, 1);
		CHECK(n == -EPERM || (n == 1 && fd_recv(p.b, &c, 1, NULL, 0, NULL) == -EPROTO));
	}
}

/* The flag is the open file description's, and so anybody's who has a copy. */
TEST(nothing_waits_whatever_the_flags_say)
{
	static const int types[] = {SOCK_SEQPACKET, SOCK_STREAM};
	static char big[32 << 10];
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		PAIR p = pair_new(types[i]);
		int got[1];
		size_t n_got;
		ssize_t n;
		char c;
		(void)fd_set_nonblock(p.a, false);
		(void)fd_set_nonblock(p.b, false);
		CHECK_INT(fd_recv(p.b, &c, 1, NULL, 0, NULL), -EAGAIN);
		CHECK_INT(fd_recv(p.b, &c, 1, got, 1, &n_got), -EAGAIN);
		while ((n = fd_send(p.a, big, sizeof big, NULL, 0)) > 0)
			;
		CHECK_INT(n, -EAGAIN);
		CHECK_INT(fd_wait(p.b, POLLIN), 0);
	}
}

TEST(cut_message_is_an_error_and_closes)
{
	PAIR p = pair_new(SOCK_SEQPACKET);
	int got[FD_PASS_MAX];
	size_t n_got = 99;
	char data[4];
	int before = count_open();
	CHECK_INT(fd_send(p.a, "hello", 5, &p.a, 1), 5);
	CHECK_INT(fd_recv(p.b, data, sizeof data, got, ARRAY_LEN(got), &n_got), -EMSGSIZE);
	CHECK_INT(count_open(), before);
	CHECK_INT(n_got, 99);
	CHECK_INT(fd_send(p.a, "next", 4, NULL, 0), 4);
	CHECK_INT(fd_recv(p.b, data, sizeof data, got, ARRAY_LEN(got), &n_got), 4);
	CHECK_INT(n_got, 0);
}

/* A sender that does not use fd_send may pass more than our control buffer holds. */
TEST(more_descriptors_than_we_take_is_an_error_and_closes)
{
	enum { MANY = FD_PASS_MAX + 3 };
	PAIR p = pair_new(SOCK_SEQPACKET);
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * MANY)];
	} control = {0};
	struct iovec iov = {.iov_base = (char[]){"x"}, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[MANY], got[FD_PASS_MAX];
	size_t n_got = 0;
	char data[4];
	*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(sizeof fds)};
	for (size_t i = 0; i < MANY; i++)
		fds[i] = p.a;
	memcpy(CMSG_DATA(c), fds, sizeof fds);
	int before = count_open();
	CHECK_INT(sendmsg(p.a, &msg, 0), 1);
	CHECK_INT(fd_recv(p.b, data, sizeof data, got, ARRAY_LEN(got), &n_got), -EMSGSIZE);
	CHECK_INT(count_open(), before);
}

TEST(a_message_comes_without_descriptors_that_find_no_room)
{
	PAIR p = pair_new(SOCK_SEQPACKET);
	struct rlimit was, low;
	int got[FD_PASS_MAX];
	size_t n_got = 0;
	char data[4] = "";
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &was), 0);
	int next = dup(p.a);
	(void)close(next);
	low = (struct rlimit){(rlim_t)next, was.rlim_max};
	CHECK_INT(fd_send(p.a, "x", 1, &p.a, 1), 1);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &low), 0);
	ssize_t n = fd_recv(p.b, data, sizeof data, got, ARRAY_LEN(got), &n_got);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &was), 0);
	CHECK_INT(n, -EMFILE);
	CHECK_INT(data[0], 'x');
}

TEST(ends_and_full_sockets)
{
	PAIR p = pair_new(SOCK_SEQPACKET);
	static char big[32 << 10];
	ssize_t n;
	char c;
	CHECK_INT(fd_recv(p.b, &c, 1, NULL, 0, NULL), -EAGAIN);
	while ((n = fd_send(p.a, big, sizeof big, NULL, 0)) > 0)
		;
	CHECK_INT(n, -EAGAIN);
	PAIR gone = pair_new(SOCK_SEQPACKET);
	fd_close(&gone.b);
	CHECK_INT(fd_send(gone.a, "x", 1, NULL, 0), -EPIPE); /* and no SIGPIPE */
	PAIR q = pair_new(SOCK_SEQPACKET);
	fd_close(&q.a);
	CHECK_INT(fd_recv(q.b, &c, 1, NULL, 0, NULL), 0);
}
