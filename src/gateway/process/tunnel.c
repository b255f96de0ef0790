/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/tunnel.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "gateway/process/ask.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { PART_BYTES = 16 << 10 };

struct tunnel {
	uv_poll_t poll;
	struct exchange *exchange; /* NULL: it has ended */
	int fd;			   /* the library's */
	struct MHD_UpgradeResponseHandle *handle;
};

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void tunnel_end(struct exchange *x)
{
	struct tunnel *t = take_ptr(x->tunnel);
	if (!t)
		return;
	uv_close((uv_handle_t *)&t->poll, on_closed);
	/* With TLS the library does not pass on the end: on_check() does. */
	(void)shutdown(t->fd, SHUT_RDWR);
	x->client->is_closing = true;
	web_tunnels(x->client, -1);
	(void)exchange_library(x)->upgrade_action(t->handle, MHD_UPGRADE_ACTION_CLOSE);
	web_kick(x->client);
}

/* Read from the program. Returns: false if it has ended. */
static bool hear(const struct tunnel *t)
{
	struct exchange *x = t->exchange;
	char part[PART_BYTES];
	ssize_t n = recv(t->fd, part, sizeof part, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0 || buf_append(&x->up, part, (size_t)n) < 0)
		return false;
	x->bytes_out += (size_t)n;
	ask_go_on(x);
	return true;
}

/* Write to the program. Returns: false if it takes nothing any more. */
static bool tell(const struct tunnel *t)
{
	struct exchange *x = t->exchange;
	ssize_t n = send(t->fd, x->down.data + x->down_at, x->down.bytes - x->down_at,
		MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	exchange_drop(&x->down, &x->down_at, (size_t)n);
	ask_go_on(x);
	return true;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	const struct tunnel *t = poll->data;
	struct exchange *x = t->exchange;
	bool is_well = status >= 0;
	if (is_well && (events & UV_READABLE))
		is_well = hear(t);
	if (is_well && (events & UV_WRITABLE) && x->down.bytes > x->down_at)
		is_well = tell(t);
	if (is_well)
		tunnel_go_on(x);
	else
		tunnel_end(x);
}

void tunnel_go_on(struct exchange *x)
{
	struct tunnel *t = x->tunnel;
	if (!t)
		return;
	bool has_more = x->down.bytes > x->down_at;
	if (x->is_down_over && !has_more) {
		tunnel_end(x);
		return;
	}
	int events = (x->up.bytes - x->up_at < EXCHANGE_BYTES ? UV_READABLE : 0) |
		(has_more ? UV_WRITABLE : 0);
	if (events)
		(void)uv_poll_start(&t->poll, events, on_event);
	else
		(void)uv_poll_stop(&t->poll);
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static void on_upgrade(void *arg, struct MHD_Connection *mhd, void *slot, const char *early,
	size_t bytes, MHD_socket socket, struct MHD_UpgradeResponseHandle *handle)
{
	struct exchange *x = arg;
	struct tunnel *t = xnew(struct tunnel);
	const int on = 1;
	(void)mhd;
	(void)slot;
	*t = (struct tunnel){.exchange = x, .fd = socket, .handle = handle};
	(void)fd_set_nonblock(socket, true);
	if (uv_poll_init(x->client->box->service->loop, &t->poll, socket) < 0)
		xdie("a poll");
	t->poll.data = t;
	x->tunnel = t;
	web_tunnels(x->client, 1);
	/* The library has turned it off. */
	(void)setsockopt(x->client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (bytes > 0 && buf_append(&x->up, early, bytes) < 0) {
		tunnel_end(x);
		return;
	}
	ask_go_on(x);
	tunnel_go_on(x);
}

struct MHD_Response *tunnel_response(struct exchange *x)
{
	return exchange_library(x)->create_response_for_upgrade(on_upgrade, x);
}
