/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/stdin_copy.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void go_on(struct stdin_copy *f);

static void closed(uv_handle_t *handle)
{
	struct stdin_copy *f = handle->data;
	if (--f->n_open > 0)
		return;
	free(take_ptr(f->data));
	f->closed(f);
}

void stdin_copy_stop(struct stdin_copy *f)
{
	if (f->is_closing)
		return;
	f->is_closing = true;
	uv_close((uv_handle_t *)&f->to_poll, closed);
	if (!f->is_regular)
		uv_close((uv_handle_t *)&f->from_poll, closed);
	if (f->was_blocking)
		(void)fd_set_nonblock(f->from, false);
	fd_close(&f->to);
	fd_close(&f->from);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
	struct stdin_copy *f = poll->data;
	(void)events;
	ssize_t n = status < 0 ? status : write(f->to, f->data + f->at, f->bytes - f->at);
	if (status == 0 && n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		stdin_copy_stop(f); /* the program has closed its stdin */
		return;
	}
	f->at += (size_t)n;
	if (f->at == f->bytes)
		go_on(f);
}

static void take(struct stdin_copy *f)
{
	ssize_t n = read(f->from, f->data, STDIN_COPY_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		stdin_copy_stop(f);
		return;
	}
	f->at = 0;
	f->bytes = (size_t)n;
	if (!f->is_regular)
		(void)uv_poll_stop(&f->from_poll);
	(void)uv_poll_start(&f->to_poll, UV_WRITABLE, on_writable);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct stdin_copy *f = poll->data;
	(void)events;
	if (status < 0)
		stdin_copy_stop(f);
	else
		take(f);
}

static void go_on(struct stdin_copy *f)
{
	(void)uv_poll_stop(&f->to_poll);
	if (f->is_regular)
		take(f);
	else
		(void)uv_poll_start(&f->from_poll, UV_READABLE, on_readable);
}

/*
 * Open the file a second time, because O_NONBLOCK must not affect other processes that share the
 * open file description. Sockets cannot be opened again, nor can a terminal or a file of another
 * user. For these, return a duplicate of @from, and note in was_blocking that O_NONBLOCK must be
 * cleared at the end.
 */
static int open_again(struct stdin_copy *f, int from)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", from);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	int flags = fcntl(from, F_GETFL);
	f->was_blocking = fd < 0 && flags >= 0 && !(flags & O_NONBLOCK);
	return fd < 0 ? fcntl(from, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;
}

int stdin_copy_start(struct stdin_copy *f, uv_loop_t *loop, int from, int to, struct err *err)
{
	struct stat st;
	cleanup_fd int to_fd = to;
	cleanup_fd int own = open_again(f, from);
	if (own < 0 || fstat(own, &st) < 0)
		return err_sys(err, ERR_IO, errno, "open the standard input");
	if (S_ISREG(st.st_mode))
		(void)lseek(own, lseek(from, 0, SEEK_CUR), SEEK_SET);
	f->data = malloc(STDIN_COPY_BYTES);
	if (!f->data)
		return err_set(err, ERR_NO_MEMORY, "no memory for the standard input");
	f->is_regular = S_ISREG(st.st_mode);
	f->is_closing = false;
	f->from_poll.data = f->to_poll.data = f;
	int r = fd_set_nonblock(to_fd, true);
	if (r == 0)
		r = uv_poll_init(loop, &f->to_poll, to_fd);
	if (r < 0) {
		free(take_ptr(f->data));
		return err_sys(err, ERR_IO, -r, "watch the standard input");
	}
	f->n_open = 1;
	if (!f->is_regular) {
		r = uv_poll_init(loop, &f->from_poll, own);
		f->n_open += r == 0;
		f->is_regular = r < 0;
		/* UV_EPERM means that the file cannot be polled, for example /dev/null. Reading it
		 * never blocks, so treat it like a regular file. */
		r = r == UV_EPERM ? 0 : r;
	}
	f->from = fd_take(&own);
	f->to = fd_take(&to_fd);
	if (r < 0) {
		stdin_copy_stop(f);
		return err_sys(err, ERR_IO, -r, "watch the standard input");
	}
	go_on(f);
	return 0;
}
