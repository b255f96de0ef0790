/* SPDX-License-Identifier: Apache-2.0 */
#include "image/unpack.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/helper/helper.h"
#include "base/install.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { GRACE_MS = 2000 };

struct unpack {
	uv_loop_t *loop;
	uv_poll_t poll;
	int channel;
	pid_t pid;
	struct unpack_order order;
	struct unpack_reply reply;
	uint64_t grace_ms;
	uint64_t max_bytes;
	bool is_over;
};

static void on_reaped(void *arg)
{
	struct unpack *u = arg;
	const struct err *err = &u->reply.err;
	u->order.done(u->order.arg, u->reply.digest, &u->reply.counts,
		err->code == ERR_NONE ? NULL : err);
	free(u);
}

static void on_closed(uv_handle_t *handle)
{
	struct unpack *u = handle->data;
	fd_close(&u->channel);
	helper_end(u->loop, u->pid, u->grace_ms, on_reaped, u);
}

/* End the process: it has said its result, or will say none. */
static void finish(struct unpack *u, uint64_t grace_ms)
{
	u->is_over = true;
	u->grace_ms = grace_ms;
	uv_close((uv_handle_t *)&u->poll, on_closed);
}

void unpack_cancel(struct unpack *u, const struct err *why)
{
	if (u->is_over)
		return;
	u->reply.err = *why;
	finish(u, 0);
}

static void fail(struct unpack *u, enum err_code code, const char *why)
{
	u->reply = (struct unpack_reply){.kind = UNPACK_RESULT};
	(void)err_set(&u->reply.err, code, "unpack: %s", why);
	finish(u, 0);
}

/* The numbers go into records and are added up. */
static bool is_possible(const struct unpack *u, const struct unpack_counts *c)
{
	return c->bytes <= u->max_bytes && c->entries <= UNPACK_ENTRIES_MAX &&
		c->left_out <= c->entries;
}

/* The process is not trusted: it has read the archive. */
static void take_result(struct unpack *u)
{
	unsigned char raw[DIGEST_RAW_BYTES];
	struct unpack_reply *reply = &u->reply;
	if (reply->status == 0 && reply->err.code == ERR_NONE)
		reply->err = (struct err){.code = ERR_NONE};
	else
		err_check(&reply->err);
	reply->digest[DIGEST_BYTES - 1] = '\0';
	bool is_whole = reply->status == 0 && reply->err.code == ERR_NONE;
	bool is_wrong = digest_read(raw, reply->digest) < 0 || !is_possible(u, &reply->counts);
	if (is_whole ? is_wrong : reply->err.code == ERR_NONE)
		fail(u, ERR_PROTOCOL, "the process has sent no result");
	else
		finish(u, GRACE_MS);
}

static void on_message(uv_poll_t *poll, int status, int events)
{
	struct unpack *u = poll->data;
	(void)status;
	(void)events;
	ssize_t n = fd_recv(u->channel, &u->reply, sizeof u->reply, NULL, 0, NULL);
	if (n == -EAGAIN)
		return;
	if (n != sizeof u->reply)
		fail(u, ERR_GONE, n == 0 ? "the process has died" : "the process sent no message");
	else if (u->reply.kind == UNPACK_RESULT)
		take_result(u);
	else if (u->order.report)
		u->order.report(u->order.arg, &u->reply.counts);
}

static int open_channel(struct unpack *u, struct err *err)
{
	int pair[2];
	struct install in;
	char name[] = "retort-unpack";
	char *argv[] = {name, NULL};
	int r = install_find(&in, err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_IO, errno, "unpack: cannot make a channel");
	u->channel = pair[0];
	r = helper_start(&u->pid, in.unpack, argv, pair[1], err);
	(void)close(pair[1]);
	return r;
}

static int send_request(const struct unpack *u, struct err *err)
{
	const struct unpack_order *o = &u->order;
	const struct unpack_request request = {.version = UNPACK_VERSION,
		.max_bytes = u->max_bytes,
		.max_entries = UNPACK_ENTRIES_MAX};
	const int fds[UNPACK_FD_END_] = {
		[UNPACK_FD_SOURCE] = o->source, [UNPACK_FD_TREE] = o->tree};
	ssize_t n = fd_send(u->channel, &request, sizeof request, fds, UNPACK_FD_END_);
	return n < 0 ? err_sys(err, ERR_GONE, (int)-n, "unpack: the process has died") : 0;
}

static void on_dropped(void *arg)
{
	free(arg);
}

int unpack_start(
	struct unpack **out, uv_loop_t *loop, const struct unpack_order *order, struct err *err)
{
	struct unpack *u = xnew(struct unpack);
	*out = NULL;
	*u = (struct unpack){.loop = loop, .channel = -1, .order = *order};
	u->max_bytes = order->max_bytes ? order->max_bytes : UNPACK_MAX_BYTES;
	int r = open_channel(u, err);
	if (r == 0)
		r = send_request(u, err);
	if (r == 0 && uv_poll_init(loop, &u->poll, u->channel) < 0)
		r = err_set(err, ERR_IO, "unpack: cannot watch the channel");
	if (r < 0) {
		fd_close(&u->channel);
		helper_end(loop, u->pid, 0, on_dropped, u);
		return r;
	}
	u->poll.data = u;
	(void)uv_poll_start(&u->poll, UV_READABLE, on_message);
	*out = u;
	return 0;
}
