/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/race.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/relay.h"
#include "base/timer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct attempt {
	uv_poll_t poll;
	struct race *race;
	struct ip ip;
	int fd;
	bool is_watched;
};

struct race {
	struct service *service;
	uv_timer_t timer;
	uint64_t until_ms;
	uint16_t port;
	size_t n, n_begun, n_open;
	unsigned n_handles;
	int sys;
	bool is_over;
	race_done_fn *done;
	void *arg;
	struct attempt attempts[];
};

static void on_closed(uv_handle_t *handle)
{
	struct race *r = handle->data;
	if (--r->n_handles == 0)
		free(r);
}

static void on_attempt_closed(uv_handle_t *handle)
{
	struct attempt *a = handle->data;
	handle->data = a->race;
	on_closed(handle);
}

static void leave(struct attempt *a)
{
	struct race *r = a->race;
	if (a->is_watched)
		uv_close((uv_handle_t *)&a->poll, on_attempt_closed);
	a->is_watched = false;
	if (a->fd < 0)
		return;
	fd_close(&a->fd);
	r->service->n_fds--;
	r->n_open--;
}

void race_stop(struct race *r)
{
	if (r->is_over)
		return;
	r->is_over = true;
	for (size_t i = 0; i < r->n_begun; i++)
		leave(&r->attempts[i]);
	uv_close((uv_handle_t *)&r->timer, on_closed);
}

/* Report @a as the winner, or that all have failed. */
static void finish(struct race *r, struct attempt *a, int sys)
{
	int fd = a ? take_fd(a->fd) : -1;
	if (a) {
		r->service->n_fds--;
		r->n_open--;
	}
	race_stop(r);
	r->done(r->arg, fd, a ? &a->ip : NULL, sys);
}

static int failure_of(const struct attempt *a)
{
	int sys = 0;
	socklen_t bytes = sizeof sys;
	if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &sys, &bytes) < 0)
		return errno;
	return sys == 0 && ip_kind(&a->ip) && fd_is_own_peer(a->fd) ? ECONNREFUSED : sys;
}

static void go_on(struct race *r);

static void on_writable(uv_poll_t *poll, int status, int events)
{
	struct attempt *a = poll->data;
	struct race *r = a->race;
	int sys = failure_of(a);
	(void)events;
	sys = sys == 0 && status < 0 ? -status : sys;
	if (sys == 0) {
		finish(r, a, 0);
		return;
	}
	r->sys = sys;
	leave(a);
	go_on(r);
}

/* Begin an attempt. Returns: 1 if it has succeeded at once, as it may within the host; 0 if it
 * goes on; negative errno. */
static int begin(struct attempt *a, uint16_t port)
{
	struct service *s = a->race->service;
	struct sockaddr_storage at;
	socklen_t bytes = ip_to(&a->ip, port, &at);
	a->fd = s->n_fds < s->max_fds
		? socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
		: (errno = EMFILE, -1);
	if (a->fd < 0)
		return -errno;
	s->n_fds++;
	a->race->n_open++;
	relay_set_options(a->fd);
	if (connect(a->fd, (const struct sockaddr *)&at, bytes) < 0 && errno != EINPROGRESS)
		return -errno;
	struct pollfd now = {.fd = a->fd, .events = POLLOUT};
	int sys = poll(&now, 1, 0) == 1 ? failure_of(a) : EINPROGRESS;
	if (sys != EINPROGRESS)
		return sys == 0 ? 1 : -sys;
	int r = uv_poll_init(s->loop, &a->poll, a->fd);
	if (r < 0)
		return r;
	a->poll.data = a;
	a->is_watched = true;
	a->race->n_handles++;
	(void)uv_poll_start(&a->poll, UV_WRITABLE, on_writable);
	return 0;
}

static void on_timer(uv_timer_t *timer)
{
	struct race *r = timer->data;
	if (timer_now() >= r->until_ms)
		finish(r, NULL, ETIMEDOUT);
	else
		go_on(r);
}

/* Begin the next attempt, or more if they fail at once. */
static void go_on(struct race *r)
{
	while (r->n_begun < r->n) {
		struct attempt *a = &r->attempts[r->n_begun++];
		int began = begin(a, r->port);
		if (began == 1) {
			finish(r, a, 0);
			return;
		}
		if (began == 0)
			break;
		r->sys = -began;
		leave(a);
	}
	uint64_t now = timer_now(), left = r->until_ms > now ? r->until_ms - now : 0;
	if (r->n_open == 0)
		finish(r, NULL, r->sys);
	else
		timer_start(
			&r->timer, on_timer, r->n_begun < r->n ? MIN(left, RACE_NEXT_MS) : left, 0);
}

struct race *race_start(struct service *s, const struct ip *ips, size_t n, uint16_t port,
	race_done_fn *done, void *arg)
{
	struct race *r = xcalloc(1, sizeof *r + n * sizeof *r->attempts);
	*r = (struct race){.service = s,
		.until_ms = timer_now() + RACE_MS,
		.port = port,
		.n = n,
		.n_handles = 1,
		.done = done,
		.arg = arg};
	(void)uv_timer_init(s->loop, &r->timer);
	r->timer.data = r;
	for (size_t i = 0; i < n; i++)
		r->attempts[i] = (struct attempt){.race = r, .ip = ips[i], .fd = -1};
	go_on(r);
	return r->is_over ? NULL : r;
}
