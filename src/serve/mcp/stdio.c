/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/mcp/stdio.h"

#include "api/text/json.h"
#include "base/buf.h"
#include "base/clock.h"
#include "serve/rpc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* PIPE_BYTES: poll() reports a pipe as writable only if it accepts this many bytes without
 * blocking. Source: pipe(7), PIPE_BUF. */
enum { READ_BYTES = 64 << 10, PIPE_BYTES = 4096, GRACE_MS = 1000 };

struct stdio {
	struct mcp_stdio_config config;
	struct mcp_peer *peer;
	struct buf in, out;
	size_t in_seen, out_at;
	bool is_ended; /* stdin has ended */
	/* The client cannot receive any more: stdout is closed, or the output exceeded its
	 * limit. */
	bool is_gone;
	bool is_no_socket;
	int64_t until_ms;
};

static size_t owed_bytes(const struct stdio *s)
{
	return s->out.bytes - s->out_at;
}

static void send_message(void *arg, const json_t *message, bool is_last)
{
	struct stdio *s = arg;
	(void)is_last;
	/* Drop notifications, but not responses and requests, while the client reads too slowly. */
	bool is_answer = json_object_get(message, "id") || json_is_array(message);
	if (s->is_gone || (!is_answer && owed_bytes(s) > MCP_STDIO_SOFT_BYTES))
		return;
	char *text = json_text(message, JSON_COMPACT);
	size_t before = s->out.bytes;
	if (!text || buf_add(&s->out, text) < 0 || buf_add(&s->out, "\n") < 0) {
		buf_cut(&s->out, before);
		s->is_gone = true;
	}
	free(text);
}

static struct mcp_out out_of(struct stdio *s)
{
	return (struct mcp_out){.arg = s, .send = send_message};
}

/* ---- receiving messages ---- */

static bool may_take(const struct stdio *s)
{
	return !s->is_gone && owed_bytes(s) <= MCP_STDIO_SOFT_BYTES;
}

static void take_line(struct stdio *s, const char *line, size_t bytes)
{
	const struct mcp_out out = out_of(s);
	if (strspn(line, " \t\r") < bytes)
		(void)mcp_peer_receive(s->peer, line, bytes, &out);
}

static void refuse_line(struct stdio *s)
{
	struct err err;
	err_fail(&err, ERR_LIMIT, "send files in parts, or give --volume", "a message over %d MiB",
		RPC_LINE_BYTES >> 20);
	(void)rpc_put_error(&s->out, NULL, RPC_INVALID, &err);
	buf_done(&s->in);
	s->is_ended = true;
}

static void take_lines(struct stdio *s)
{
	size_t at = 0;
	while (may_take(s)) {
		struct buf rest = {.data = s->in.data + at, .bytes = s->in.bytes - at};
		ssize_t n = rest.bytes > 0 ? rpc_line(&rest, &s->in_seen) : -1;
		if (n < 0)
			break;
		s->in.data[at + (size_t)n] = '\0';
		take_line(s, s->in.data + at, (size_t)n);
		at += (size_t)n + 1;
		s->in_seen = 0;
	}
	buf_consume(&s->in, at);
	if (s->is_ended && s->in.bytes > 0 && may_take(s)) {
		take_line(s, buf_str(&s->in), s->in.bytes);
		buf_done(&s->in);
	}
	if (s->in.bytes >= RPC_LINE_BYTES && s->in_seen == s->in.bytes)
		refuse_line(s);
}

static void read_some(struct stdio *s)
{
	char *at = buf_reserve(&s->in, READ_BYTES);
	ssize_t n = at ? read(s->config.in_fd, at, READ_BYTES) : 0;
	if (n > 0)
		buf_grown(&s->in, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		s->is_ended = true;
}

/* ---- sending messages ---- */

static void write_some(struct stdio *s)
{
	const char *at = s->out.data + s->out_at;
	ssize_t n = -1;
	errno = ENOTSOCK;
	if (!s->is_no_socket)
		n = send(s->config.out_fd, at, owed_bytes(s), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno == ENOTSOCK) {
		s->is_no_socket = true;
		n = write(s->config.out_fd, at, MIN(owed_bytes(s), (size_t)PIPE_BYTES));
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->is_gone = true;
	s->out_at += n > 0 ? (size_t)n : 0;
	if (owed_bytes(s) == 0)
		buf_clear(&s->out);
	else if (s->out_at > s->out.bytes / 2)
		buf_consume(&s->out, s->out_at);
	else
		return;
	s->out_at = 0;
}

/* ---- the event loop ---- */

static bool is_over(struct stdio *s)
{
	if (s->is_gone || (s->config.is_ended && s->config.is_ended(s->config.arg)))
		return true;
	if (!s->is_ended || owed_bytes(s) > 0 || s->in.bytes > 0)
		return false;
	if (mcp_peer_n_calls(s->peer) == 0)
		return true;
	if (!s->until_ms)
		s->until_ms = clock_now_ms() + GRACE_MS;
	return clock_now_ms() >= s->until_ms;
}

/* Wait until a descriptor is ready, or a timer of the engine's loop is due. The loop has a
 * descriptor for its events. Source: libuv, uv_backend_fd(). */
static void wait_for_something(struct stdio *s, uv_loop_t *loop)
{
	bool is_reading = !s->is_ended && may_take(s) && s->in.bytes < RPC_LINE_BYTES;
	struct pollfd fds[] = {
		{.fd = is_reading ? s->config.in_fd : -1, .events = POLLIN},
		/* poll() reports that the reader has closed even if no events are requested. */
		{.fd = s->config.out_fd, .events = owed_bytes(s) > 0 ? POLLOUT : 0},
		{.fd = loop ? uv_backend_fd(loop) : -1, .events = POLLIN},
	};
	int timeout = loop ? uv_backend_timeout(loop) : -1;
	if (s->until_ms) {
		int left = (int)MAX(s->until_ms - clock_now_ms(), 0);
		timeout = timeout < 0 ? left : MIN(timeout, left);
	}
	if (poll(fds, ARRAY_LEN(fds), timeout) <= 0)
		return;
	if (fds[0].revents)
		read_some(s);
	if (fds[1].revents & POLLOUT)
		write_some(s);
	else if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		s->is_gone = true;
}

static void serve(struct stdio *s)
{
	for (;;) {
		take_lines(s);
		uv_loop_t *loop = s->config.loop ? s->config.loop(s->config.arg) : NULL;
		if (loop)
			(void)uv_run(loop, UV_RUN_NOWAIT);
		if (is_over(s))
			return;
		wait_for_something(s, loop);
	}
}

void mcp_stdio_run(const struct mcp_stdio_config *config)
{
	struct stdio s = {.config = *config,
		.in = BUF_INIT(RPC_LINE_BYTES + READ_BYTES),
		.out = BUF_INIT(MCP_STDIO_HARD_BYTES)};
	const struct mcp_peer_config peer = {.server = config->server,
		.open = config->open,
		.open_arg = config->arg,
		.out = out_of(&s)};
	(void)signal(SIGPIPE, SIG_IGN);
	s.peer = mcp_peer_new(&peer);
	serve(&s);
	mcp_peer_free(s.peer);
	buf_done(&s.in);
	buf_done(&s.out);
}
