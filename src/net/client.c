/*
 * Theory of operation: libcurl reports which descriptors it waits for, and for how long. The loop
 * watches these descriptors and runs a timer.
 *
 * libcurl must not be called from its own callbacks, but a user's callback may start or cancel a
 * call. So net_start() and net_cancel() only mark the call and start the timer `kick` with 0 ms.
 * When it expires, libcurl is in no callback, so the call can be added or removed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/client.h"

#include "base/alloc.h"
#include "base/num.h"
#include "base/timer.h"
#include "net/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A descriptor of libcurl that the loop watches. */
struct net_socket {
	uv_poll_t poll;
	struct net *net;
};

static void handle_closed(struct net *n)
{
	if (--n->n_handles > 0)
		return;
	curl_unload(&n->curl);
	free(n);
}

static void own_closed(uv_handle_t *h)
{
	handle_closed(h->data);
}

static void socket_closed(uv_handle_t *h)
{
	struct net_socket *s = h->data;
	struct net *n = s->net;
	free(s);
	handle_closed(n);
}

static void call_closed(uv_handle_t *h)
{
	struct net_call *c = h->data;
	struct net *n = c->net;
	free(c);
	handle_closed(n);
}

/* Remove the call from the list and from libcurl. Its memory is freed when its timer is closed. */
static void drop(struct net_call *c)
{
	struct net *n = c->net;
	for (struct net_call **p = &n->calls; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			break;
		}
	if (c->is_added)
		(void)n->curl.multi_remove_handle(n->multi, c->easy);
	call_free(c);
	uv_close((uv_handle_t *)&c->idle, call_closed);
}

static void finish(struct net_call *c, const struct net_result *result)
{
	bool is_heard = !c->is_cancelled;
	struct net_request request = c->request;
	c->is_cancelled = true;
	if (is_heard)
		request.on_done(request.arg, result);
	drop(c);
}

static void reap(struct net *n)
{
	CURLMsg *message;
	int left;
	while ((message = n->curl.multi_info_read(n->multi, &left)) != NULL) {
		struct net_call *c = NULL;
		if (message->msg != CURLMSG_DONE)
			continue;
		CURLcode code = message->data.result;
		(void)n->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&c);
		if (c->is_upgraded) /* client_kick() goes on with it */
			continue;
		struct net_result result;
		call_judge(c, code, &result);
		finish(c, &result);
	}
}

static void act(struct net *n, curl_socket_t fd, int what)
{
	int n_running;
	(void)n->curl.multi_socket_action(n->multi, fd, what, &n_running);
	reap(n);
}

static void on_timer(uv_timer_t *t)
{
	act(container_of(t, struct net, timer), CURL_SOCKET_TIMEOUT, 0);
}

static void on_soon(uv_idle_t *soon)
{
	struct net *n = container_of(soon, struct net, soon);
	(void)uv_idle_stop(soon);
	act(n, CURL_SOCKET_TIMEOUT, 0);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct net_socket *s = container_of(poll, struct net_socket, poll);
	int what = status < 0 ? CURL_CSELECT_ERR : 0;
	uv_os_fd_t fd;
	if (uv_fileno((uv_handle_t *)poll, &fd) < 0)
		return;
	if (events & UV_READABLE)
		what |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		what |= CURL_CSELECT_OUT;
	act(s->net, fd, what);
}

static struct net_socket *watch(struct net *n, curl_socket_t fd)
{
	struct net_socket *s = xnew(struct net_socket);
	if (uv_poll_init_socket(n->loop, &s->poll, fd) < 0) {
		free(s);
		return NULL;
	}
	s->net = n;
	s->poll.data = s;
	n->n_handles++;
	return s;
}

/* After a switch of protocols, nobody says when the server has ended. But libcurl wants to know
 * nothing of the socket then, although it is not told to wait. */
static void note_end(const struct net *n, CURL *easy)
{
	struct net_call *c = NULL;
	(void)n->curl.easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&c);
	if (!c || !c->is_switch || !c->is_headed || c->is_paused || c->is_cancelled)
		return;
	c->is_left = true;
	net_go_on(c);
}

/* Watch @fd for the events @what. Called by libcurl. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct net *n = arg;
	struct net_socket *s = known;
	if (what == CURL_POLL_REMOVE) {
		note_end(n, easy);
		if (s)
			uv_close((uv_handle_t *)&s->poll, socket_closed);
		(void)n->curl.multi_assign(n->multi, fd, NULL);
		return 0;
	}
	if (!s && !(s = watch(n, fd)))
		return -1;
	int events =
		(what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
	(void)n->curl.multi_assign(n->multi, fd, s);
	return uv_poll_start(&s->poll, events, on_poll) < 0 ? -1 : 0;
}

/* Start the timer that calls libcurl after @ms. If @ms is -1, stop the timer. If @ms is 0, libcurl
 * has more to do: a timer would expire again and again in one iteration of the loop, and a fast
 * server could hold the loop. Called by libcurl. */
static int on_timeout(CURLM *multi, long ms, void *arg)
{
	struct net *n = arg;
	(void)multi;
	if (n->is_closing)
		return 0;
	(void)uv_timer_stop(&n->timer);
	(void)uv_idle_stop(&n->soon);
	if (ms > 0)
		timer_start(&n->timer, on_timer, (uint64_t)ms, 0);
	return ms == 0 ? uv_idle_start(&n->soon, on_soon) : 0;
}

static void on_idle(uv_timer_t *t)
{
	struct net_call *c = container_of(t, struct net_call, idle);
	uint64_t quiet_ms = timer_since(c->last_ms);
	if (quiet_ms < c->request.idle_ms) {
		timer_start(&c->idle, on_idle, c->request.idle_ms - quiet_ms, 0);
		return;
	}
	struct net_result result;
	(void)err_set(&c->err, ERR_UNREACHABLE, "%s: not a byte for %s", c->host,
		num_format_ms(c->request.idle_ms).text);
	call_judge(c, CURLE_OPERATION_TIMEDOUT, &result);
	finish(c, &result);
}

static void add(struct net_call *c)
{
	struct net *n = c->net;
	struct net_result result;
	c->last_ms = timer_now();
	c->is_added = n->curl.multi_add_handle(n->multi, c->easy) == CURLM_OK;
	if (c->is_added && c->request.idle_ms > 0)
		timer_start(&c->idle, on_idle, c->request.idle_ms, 0);
	if (c->is_added)
		return;
	call_judge(c, CURLE_OUT_OF_MEMORY, &result);
	finish(c, &result);
}

static void close_all(struct net *n)
{
	(void)n->curl.multi_cleanup(n->multi);
	uv_close((uv_handle_t *)&n->timer, own_closed);
	uv_close((uv_handle_t *)&n->kick, own_closed);
	uv_close((uv_handle_t *)&n->soon, own_closed);
}

/* Find the next call that is to be added to libcurl or that was cancelled. */
static struct net_call *find_noted(struct net *n)
{
	struct net_call *c = n->calls;
	while (c && c->is_added && !c->is_cancelled && !c->is_upgraded && !c->is_going_on)
		c = c->next;
	return c;
}

/* Bring a noted call forward. All that libcurl has received was passed on, so after status 101 the
 * socket can be taken from it. */
static void advance(struct net_call *c)
{
	if (!c->is_cancelled && c->is_upgraded)
		call_upgrade(c);
	if (c->is_cancelled || c->is_upgraded) {
		drop(c);
	} else if (!c->is_added) {
		add(c);
	} else {
		c->is_going_on = false;
		(void)c->net->curl.easy_pause(c->easy, CURLPAUSE_CONT);
	}
}

void client_kick(uv_timer_t *t)
{
	struct net *n = container_of(t, struct net, kick);
	struct net_call *c;
	while ((c = find_noted(n)) != NULL)
		advance(c);
	if (n->is_closing)
		close_all(n);
}

static int set_up(struct net *n)
{
	struct curl *c = &n->curl;
	n->multi = c->multi_init();
	bool is_good = n->multi &&
		c->multi_setopt(n->multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
		c->multi_setopt(n->multi, CURLMOPT_SOCKETDATA, n) == CURLM_OK &&
		c->multi_setopt(n->multi, CURLMOPT_TIMERFUNCTION, on_timeout) == CURLM_OK &&
		c->multi_setopt(n->multi, CURLMOPT_TIMERDATA, n) == CURLM_OK;
	if (!is_good && n->multi)
		(void)c->multi_cleanup(n->multi);
	return is_good ? 0 : -ENOMEM;
}

int net_open(struct net **out, uv_loop_t *loop, struct err *err)
{
	struct net *n = xnew(struct net);
	n->loop = loop;
	int r = curl_load(&n->curl, err);
	if (r == 0 && set_up(n) < 0)
		r = err_set(err, ERR_NO_MEMORY, "no memory for an HTTP client");
	if (r < 0) {
		curl_unload(&n->curl);
		free(n);
		return r;
	}
	/* These always succeed. */
	(void)uv_timer_init(loop, &n->timer);
	(void)uv_timer_init(loop, &n->kick);
	(void)uv_idle_init(loop, &n->soon);
	n->timer.data = n->kick.data = n->soon.data = n;
	n->n_handles = 3;
	*out = n;
	return 0;
}

void net_close(struct net *n)
{
	if (n->is_closing)
		return;
	n->is_closing = true;
	for (struct net_call *c = n->calls; c; c = c->next)
		c->is_cancelled = true;
	(void)uv_timer_stop(&n->timer);
	(void)uv_idle_stop(&n->soon);
	timer_start(&n->kick, client_kick, 0, 0);
}

void net_keep(struct net *n, unsigned n_kept)
{
	(void)n->curl.multi_setopt(n->multi, CURLMOPT_MAXCONNECTS, (long)n_kept);
}

int net_start(
	struct net *n, const struct net_request *request, struct net_call **out, struct err *err)
{
	struct net_call *c = NULL;
	int r = call_new(&c, n, request, err);
	if (r < 0)
		return r;
	(void)uv_timer_init(n->loop, &c->idle);
	c->idle.data = c;
	n->n_handles++;
	c->next = n->calls;
	n->calls = c;
	timer_start(&n->kick, client_kick, 0, 0);
	*out = c;
	return 0;
}

void net_go_on(struct net_call *c)
{
	c->is_going_on = true;
	timer_start(&c->net->kick, client_kick, 0, 0);
}

void net_cancel(struct net_call *c)
{
	c->is_cancelled = true;
	timer_start(&c->net->kick, client_kick, 0, 0);
}
