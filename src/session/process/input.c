/* SPDX-License-Identifier: Apache-2.0 */
#include "session/process/input.h"

#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

static void on_writable(uv_poll_t *poll, int status, int events);

static bool poll_now(struct pollfd *at)
{
	return poll(at, 1, 0) == 1;
}

static struct input_piece *take_first(struct input *in)
{
	struct input_piece *piece = in->first;
	in->first = piece->next;
	if (!in->first)
		in->last = &in->first;
	in->bytes -= piece->bytes;
	return piece;
}

static void shut(struct input *in)
{
	if (in->is_open && !in->is_shut) {
		(void)uv_poll_stop(&in->poll);
		fd_vacate(in->fd);
	}
	in->is_shut = true;
}

/* End the input: close the pipe, or write the character for it to the terminal. Returns: 0;
 * -EAGAIN: the terminal has no room for it. */
static int end(struct input *in)
{
	struct termios settings;
	char word = 4; /* Ctrl-D */
	if (!in->is_terminal) {
		shut(in);
		return 0;
	}
	if (tcgetattr(in->fd, &settings) == 0 && settings.c_cc[VEOF])
		word = (char)settings.c_cc[VEOF];
	return write(in->fd, &word, 1) < 0 && errno == EAGAIN ? -EAGAIN : 0;
}

static int write_piece(struct input *in, struct input_piece *piece)
{
	while (piece->at < piece->bytes) {
		ssize_t n = write(in->fd, piece->data + piece->at, piece->bytes - piece->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		piece->at += (size_t)n;
	}
	return piece->is_end ? end(in) : 0;
}

static void go_on(struct input *in)
{
	struct err err;
	while (in->first && !in->is_shut) {
		int r = write_piece(in, in->first);
		if (r == -EAGAIN) {
			(void)uv_poll_start(&in->poll, UV_WRITABLE, on_writable);
			return;
		}
		if (r < 0) {
			err_fail(&err, ERR_GONE, "it has ended, or has closed its input",
				"the program does not read its input any more");
			input_shut(in, &err);
			return;
		}
		struct input_piece *piece = take_first(in);
		piece->done(piece, NULL);
	}
	if (in->is_open && !in->is_shut)
		(void)uv_poll_stop(&in->poll);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
	struct input *in = container_of(poll, struct input, poll);
	struct pollfd at = {.fd = in->fd};
	struct err err;
	(void)status; /* write() reports the error */
	(void)events;
	go_on(in);
	/* A terminal that no program has open any more may have no room and no error, but wakes the
	 * loop again and again. */
	if (in->first && !in->is_shut && poll_now(&at) && (at.revents & POLLHUP)) {
		err_fail(&err, ERR_GONE, "it has ended, or has closed its terminal",
			"the program does not read its input any more");
		input_shut(in, &err);
	}
}

int input_open(struct input *in, uv_loop_t *loop, int fd, bool is_terminal, struct err *err)
{
	*in = (struct input){.fd = fd, .is_terminal = is_terminal};
	in->last = &in->first;
	int r = uv_poll_init(loop, &in->poll, fd);
	if (r < 0)
		return err_sys(err, ERR_IO, -r, "watch the input of a program");
	in->is_open = true;
	return 0;
}

int input_put(struct input *in, struct input_piece *piece, struct err *err)
{
	if (!in->is_open)
		return err_fail(err, ERR_USAGE, "start it with `input` or with a terminal",
			"the program was started without input");
	if (in->is_shut)
		return err_fail(err, ERR_GONE, "it has ended, or its input was ended before",
			"the program's input is closed");
	if (in->bytes > 0 && in->bytes + piece->bytes > INPUT_BYTES)
		return err_fail(err, ERR_BUSY, "write it again when the program has read some",
			"%zu bytes wait to be read by the program", in->bytes);
	piece->next = NULL;
	piece->at = 0;
	*in->last = piece;
	in->last = &piece->next;
	in->bytes += piece->bytes;
	if (in->first == piece)
		go_on(in);
	return 0;
}

void input_withdraw(struct input *in, struct input_piece *piece)
{
	for (struct input_piece **at = &in->first; *at; at = &(*at)->next) {
		if (*at != piece)
			continue;
		*at = piece->next;
		in->bytes -= piece->bytes;
		if (in->last == &piece->next)
			in->last = at;
		return;
	}
}

void input_shut(struct input *in, const struct err *why)
{
	shut(in);
	while (in->first) {
		struct input_piece *piece = take_first(in);
		piece->done(piece, why);
	}
}

bool input_close(struct input *in, void *data, uv_close_cb closed)
{
	bool is_open = in->is_open;
	in->is_open = false;
	if (is_open) {
		in->poll.data = data;
		uv_close((uv_handle_t *)&in->poll, closed);
	}
	return is_open;
}

void input_done(struct input *in)
{
	fd_close(&in->fd);
}
