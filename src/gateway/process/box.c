/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/relay.h"
#include "base/timer.h"
#include "gateway/process/inside.h"
#include "gateway/process/lookup.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

enum { ACCEPTS_PER_TURN = 64, TICK_MS = 100 };

/* ---- the life of a box ---- */

void net_box_hold(struct net_box *b)
{
	b->n_uses++;
}

void held_secrets_let_go(struct held_secrets *h)
{
	if (!h || --h->n_refs > 0)
		return;
	secrets_done(&h->all);
	free(h);
}

void net_box_let_go(struct net_box *b)
{
	if (--b->n_uses > 0)
		return;
	lookups_free(b);
	names_free(b->names);
	rows_clear(&b->rows);
	free(b->consents);
	held_secrets_let_go(b->secrets);
	free(b);
}

static void on_tick_closed(uv_handle_t *handle)
{
	net_box_let_go(handle->data);
}

struct net_box *net_box_new(struct service *s, uint32_t id)
{
	unsigned char seed[NAMES_SEED_BYTES];
	if (getrandom(seed, sizeof seed, 0) != sizeof seed)
		return NULL;
	struct net_box *b = xnew(struct net_box);
	*b = (struct net_box){.service = s, .id = id, .resolver = -1, .n_uses = 1};
	b->names = names_new(seed);
	if (!b->names) {
		free(b);
		return NULL;
	}
	b->last_lookup = &b->first_lookup;
	(void)uv_timer_init(s->loop, &b->tick);
	b->tick.data = b;
	b->next = s->boxes;
	s->boxes = b;
	return b;
}

void net_box_close(struct net_box *b)
{
	struct net_box **at = &b->service->boxes;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	b->is_closed = true;
	resolver_close(b);
	while (b->listeners)
		listener_close(b->listeners);
	connections_end(b);
	web_end(b);
	uv_close((uv_handle_t *)&b->tick, on_tick_closed);
}

/* ---- rows ---- */

void net_box_note(struct net_box *b, const struct gateway_row *row)
{
	const struct gateway_row *new_row = b->is_closed ? NULL : rows_add(&b->rows, row);
	/* If the engine does not read just now, it finds the row in its report. A row that only
	 * has bytes is not news. */
	if (!new_row || row->n == 0 || channel_is_full(b->service->channel))
		return;
	json_t *message = frame_new("say", "row", b->id), *json = frame_row(new_row);
	(void)json_object_update(message, json);
	json_decref(json);
	channel_send(b->service->channel, message, NULL, 0);
}

void net_box_count(struct net_box *b, const char *name, uint16_t port, enum gateway_verdict verdict,
	const char *reason)
{
	struct gateway_row row = {.port = port, .verdict = verdict, .n = 1};
	snprintf(row.name, sizeof row.name, "%s", name);
	snprintf(row.reason, sizeof row.reason, "%s", reason);
	net_box_note(b, &row);
}

void net_box_say_ready(struct net_box *b)
{
	if (!b->is_ready_due || b->n_wanted > 0)
		return;
	b->is_ready_due = false;
	channel_send(b->service->channel, frame_new("say", "ready", b->id), NULL, 0);
}

void net_box_report(struct net_box *b)
{
	connections_count(b);
	web_count(b);
	size_t i = 0;
	do {
		json_t *rows = json_array(), *message = frame_new("say", "report", b->id);
		for (size_t end = MIN(b->rows.n, i + FRAME_ROWS); i < end; i++)
			(void)json_array_append_new(rows, frame_row(&b->rows.v[i]));
		bool is_last = i == b->rows.n;
		(void)json_object_set_new(message, "rows", rows);
		(void)json_object_set_new(
			message, "n_more", json_integer(is_last ? (json_int_t)b->rows.n_more : 0));
		(void)json_object_set_new(message, "is_last", json_boolean(is_last));
		channel_send(b->service->channel, message, NULL, 0);
	} while (i < b->rows.n);
	rows_clear(&b->rows);
}

/* ---- listeners ---- */

static void on_tick(uv_timer_t *timer);

void net_box_wake(struct net_box *b)
{
	if (!b->is_closed && !uv_is_active((uv_handle_t *)&b->tick))
		timer_start(&b->tick, on_tick, TICK_MS, TICK_MS);
}

static void on_client(uv_poll_t *poll, int status, int events)
{
	struct listener *l = poll->data;
	(void)status;
	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			connection_new(l->box, fd);
			continue;
		}
		if (errno == EAGAIN)
			return;
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		/* There are too many descriptors: try again in a while. */
		(void)uv_poll_stop(poll);
		l->is_paused = true;
		net_box_wake(l->box);
		return;
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct net_box *b = timer->data;
	for (struct listener *l = b->listeners; l; l = l->next) {
		if (l->is_paused)
			(void)uv_poll_start(&l->poll, UV_READABLE, on_client);
		l->is_paused = false;
	}
	if (!resolver_expire(b))
		(void)uv_timer_stop(timer);
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct listener *l = handle->data;
	net_box_let_go(l->box);
	free(l);
}

void listener_close(struct listener *l)
{
	struct listener **at = &l->box->listeners;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	l->box->n_bound -= l->is_bound;
	l->box->service->n_fds--;
	uv_close((uv_handle_t *)&l->poll, on_listener_closed);
	fd_close(&l->fd);
}

/* Have the kernel find out that a program has closed its socket, although its server goes on. */
static void set_keepalive(int fd)
{
	const int on = 1, idle_s = 60, interval_s = 30, n_probes = 4;
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &n_probes, sizeof n_probes);
}

bool net_box_listen(struct net_box *b, int fd, uint32_t v4, uint16_t port, bool is_bound)
{
	struct listener *l = xnew(struct listener);
	*l = (struct listener){.box = b, .fd = fd, .v4 = v4, .port = port, .is_bound = is_bound};
	(void)fd_set_nonblock(fd, true);
	/* for those that it accepts */
	relay_set_options(fd);
	set_keepalive(fd);
	if (uv_poll_init(b->service->loop, &l->poll, fd) < 0) {
		fd_close(&l->fd);
		free(l);
		return false;
	}
	l->poll.data = l;
	(void)uv_poll_start(&l->poll, UV_READABLE, on_client);
	l->next = b->listeners;
	b->listeners = l;
	b->n_bound += is_bound;
	b->service->n_fds++;
	net_box_hold(b);
	return true;
}

bool net_box_listens(const struct net_box *b, uint32_t v4, uint16_t port)
{
	for (const struct listener *l = b->listeners; l; l = l->next)
		if (l->port == port && (l->v4 == 0 || l->v4 == v4))
			return true;
	return false;
}

/* ---- rules and sockets ---- */

void net_box_set_rules(struct net_box *b, const struct rules *rules, struct secrets *secrets)
{
	b->rules = *rules;
	held_secrets_let_go(b->secrets);
	b->secrets = xnew(struct held_secrets);
	*b->secrets = (struct held_secrets){.n_refs = 1, .all = *secrets};
	*secrets = (struct secrets){.n = 0};
	b->n_ports = rules_ports(rules, b->ports);
	b->has_own = false;
	for (size_t i = 0; i < b->n_ports; i++)
		b->has_own = b->has_own || b->ports[i] >= PORT_OWN;
	connections_recheck(b);
	web_recheck(b);
}

void net_box_take(struct net_box *b, int *fds, size_t n, bool has_resolver)
{
	for (size_t i = 0; i < n; i++) {
		struct sockaddr_in at = {0};
		socklen_t bytes = sizeof at;
		int fd = take_fd(fds[i]);
		if (i == 0 && has_resolver) {
			resolver_open(b, fd);
			continue;
		}
		(void)getsockname(fd, (struct sockaddr *)&at, &bytes);
		(void)net_box_listen(b, fd, ntohl(at.sin_addr.s_addr), ntohs(at.sin_port), false);
	}
	sockets_want(b);
}
