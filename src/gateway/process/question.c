/*
 * The questions of a box for addresses of names.
 *
 * Ports below PORT_OWN of all addresses are listened on from the start, since programs of a box
 * cannot use them. Of the others, a name gets its own sockets, each bound to its address and one
 * port, so that a program may still listen on that port of other addresses. They are made when the
 * name is first asked for, and the answer waits for them: the engine gives each socket
 * ("want_socket"), and this process binds it. Those for literal addresses are made when the rules
 * come. A program that has taken the port of all addresses already keeps it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/timer.h"
#include "gateway/process/inside.h"
#include "gateway/process/resolver.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PER_TURN = 32, WAIT_MS = 2000, BACKLOG = 128 };

struct question {
	struct question *next;
	struct sockaddr_in from;
	struct name *name;
	uint64_t until_ms;
	bool is_all; /* the sockets of its name are asked for */
	size_t bytes;
	uint8_t data[RESOLVER_QUERY_BYTES];
};

static void answer(struct net_box *b, const struct sockaddr_in *to, const struct resolver_query *q,
	enum resolver_result result, uint32_t v4)
{
	uint8_t out[RESOLVER_ANSWER_BYTES];
	size_t bytes = resolver_write(q, result, v4, out);
	(void)sendto(b->resolver, out, bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
		(const struct sockaddr *)to, sizeof *to);
}

/* ---- the sockets of a name ---- */

/* Return whether a socket is asked for that @v4 needs, of @port or (0) any. */
static bool is_wanted(const struct net_box *b, uint32_t v4, uint16_t port)
{
	for (size_t i = 0; i < b->n_wanted; i++) {
		const struct wanted *w = &b->wanted[i];
		if ((w->v4 == 0 || w->v4 == v4) && (port == 0 || w->port == port))
			return true;
	}
	return false;
}

/* Ask the engine for a socket, to bind it to @v4 (0: all addresses) and @port. Returns: false if
 * that many are asked for that this one has to wait. */
static bool want(struct net_box *b, uint32_t v4, uint16_t port, const char *name)
{
	if (net_box_listens(b, v4, port) || is_wanted(b, v4, port))
		return true;
	if (b->n_bound + b->n_wanted >= BOUND_MAX) {
		net_box_count(b, name, port, GATEWAY_FAILED,
			"the box has 512 names with ports from 1024 on");
		return true;
	}
	if (b->n_wanted == FRAME_WANTED_MAX)
		return false;
	struct wanted *w = &b->wanted[b->n_wanted++];
	*w = (struct wanted){.v4 = v4, .port = port};
	snprintf(w->name, sizeof w->name, "%s", name);
	channel_send(b->service->channel, frame_new("say", "want_socket", b->id), NULL, 0);
	return true;
}

/* Ask for the sockets that @name needs and has not got. Returns: false if not for all of them yet.
 */
static bool want_all(struct net_box *b, const struct name *name)
{
	bool is_all = true;
	for (size_t i = 0; b->has_own && i < b->n_ports; i++)
		if (b->ports[i] >= PORT_OWN && rules_for_port(&b->rules, name->host, b->ports[i]))
			is_all = want(b, name->v4, b->ports[i], name->host) && is_all;
	return is_all;
}

/* Return whether @name can be connected to at any port. */
static bool is_usable(const struct net_box *b, const struct name *name)
{
	for (size_t i = 0; i < b->n_ports; i++)
		if (rules_for_port(&b->rules, name->host, b->ports[i]) &&
			(b->ports[i] < PORT_OWN || net_box_listens(b, name->v4, b->ports[i])))
			return true;
	return false;
}

/* Return whether @port is listened on at all addresses, since a rule names it for a network, which
 * has many. */
static bool needs_all(const struct net_box *b, uint16_t port)
{
	for (size_t i = 0; i < b->rules.n; i++)
		if (b->rules.v[i].kind == RULE_NETWORK && b->rules.v[i].port == port &&
			b->rules.v[i].bits < 32)
			return true;
	return false;
}

static bool is_useful(const struct net_box *b, const struct listener *l)
{
	for (size_t i = 0; i < b->n_ports; i++)
		if (b->ports[i] == l->port)
			return needs_all(b, l->port) == (l->v4 == 0);
	return false;
}

void sockets_want(struct net_box *b)
{
	struct listener *next;
	char text[IP_TEXT_BYTES];
	/* What the rules have no use for goes, and what is in the way of a socket for all. */
	for (struct listener *l = b->listeners; l; l = next) {
		next = l->next;
		if (l->is_bound && !is_useful(b, l))
			listener_close(l);
	}
	for (size_t i = 0; b->has_own && i < b->rules.n; i++) {
		const struct rule *rule = &b->rules.v[i];
		const struct ip ip = ip_of_v4(rule->network);
		ip_write(&ip, text);
		if (rule->kind == RULE_NETWORK && rule->port >= PORT_OWN)
			(void)want(
				b, needs_all(b, rule->port) ? 0 : rule->network, rule->port, text);
	}
	for (size_t i = 0; b->has_own && i < names_count(b->names); i++)
		(void)want_all(b, names_row(b->names, i));
}

/* Bind @fd as it was asked for. Returns: NULL, or why it failed. */
static const char *bind_socket(struct net_box *b, int fd, const struct wanted *w)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(w->port), .sin_addr.s_addr = htonl(w->v4)};
	const int on = 1;
	if (fd < 0)
		return "no socket could be made for it";
	/* With SO_REUSEPORT, a program could take connections from this socket. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 || listen(fd, BACKLOG) < 0) {
		int sys = errno;
		fd_close(&fd);
		return sys == EADDRINUSE ? "its port is taken by a program of the box"
					 : "no socket could be bound for it";
	}
	return net_box_listen(b, fd, w->v4, w->port, true) ? NULL : "the gateway has no memory";
}

/* Answer the questions for names that have got their sockets. */
static void answer_ready(struct net_box *b)
{
	struct question **at = &b->questions;
	while (*at) {
		struct question *q = *at;
		struct resolver_query query;
		/* A socket that could not be made or bound is not asked for again. */
		q->is_all = q->is_all || want_all(b, q->name);
		if (!q->is_all || is_wanted(b, q->name->v4, 0)) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		b->n_questions--;
		if (resolver_read(&query, q->data, q->bytes))
			answer(b, &q->from, &query,
				is_usable(b, q->name) ? RESOLVER_FOUND : RESOLVER_REFUSED,
				q->name->v4);
		free(q);
	}
}

void sockets_take(struct net_box *b, int fd)
{
	if (b->n_wanted == 0) {
		fd_close(&fd);
		return;
	}
	struct wanted w = b->wanted[0];
	memmove(b->wanted, b->wanted + 1, --b->n_wanted * sizeof *b->wanted);
	const char *why = bind_socket(b, fd, &w);
	if (why)
		net_box_count(b, w.name, w.port, GATEWAY_FAILED, why);
	answer_ready(b);
	net_box_say_ready(b);
}

/* ---- questions ---- */

static struct question *keep_question(struct net_box *b, const struct resolver_query *query,
	size_t bytes, const struct sockaddr_in *from)
{
	if (b->n_questions == QUESTIONS_MAX) /* as if the datagram was lost */
		return NULL;
	struct question *q = xnew(struct question);
	*q = (struct question){.next = b->questions,
		.from = *from,
		.until_ms = timer_now() + WAIT_MS,
		.bytes = bytes};
	memcpy(q->data, query->data, bytes);
	b->questions = q;
	b->n_questions++;
	net_box_wake(b);
	return q;
}

bool resolver_expire(struct net_box *b)
{
	struct question **at = &b->questions;
	while (*at) {
		struct question *q = *at;
		struct resolver_query query;
		if (timer_now() < q->until_ms) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		b->n_questions--;
		if (resolver_read(&query, q->data, q->bytes))
			answer(b, &q->from, &query, RESOLVER_FULL, 0);
		net_box_count(b, q->name->host, 0, GATEWAY_FAILED,
			"the sockets for its ports were not made in time");
		free(q);
	}
	return b->questions != NULL;
}

static void on_question(
	struct net_box *b, const uint8_t *data, size_t bytes, const struct sockaddr_in *from)
{
	struct resolver_query q;
	if (!resolver_read(&q, data, bytes))
		return;
	if (q.name[0] == '\0') {
		answer(b, from, &q, RESOLVER_REFUSED, 0);
		return;
	}
	if (!rules_for_name(&b->rules, q.name)) {
		net_box_count(b, q.name, 0, GATEWAY_REFUSED, "no rule names it");
		answer(b, from, &q, RESOLVER_REFUSED, 0);
		return;
	}
	struct name *name = names_add(b->names, q.name);
	if (!name) {
		net_box_count(b, q.name, 0, GATEWAY_REFUSED,
			"the box has asked for more than 4096 names");
		answer(b, from, &q, RESOLVER_FULL, 0);
		return;
	}
	if (!q.wants_address) {
		answer(b, from, &q, RESOLVER_FOUND, name->v4);
		return;
	}
	/* Of a name about which a person is asked, nothing is decided yet. */
	if (rules_for_name(&b->rules, q.name)->kind != RULE_ASK)
		net_box_count(b, q.name, 0, GATEWAY_ALLOWED, "");
	bool is_all = want_all(b, name);
	if (is_all && !is_wanted(b, name->v4, 0)) {
		answer(b, from, &q, is_usable(b, name) ? RESOLVER_FOUND : RESOLVER_REFUSED,
			name->v4);
		return;
	}
	struct question *kept = keep_question(b, &q, bytes, from);
	if (!kept)
		return;
	kept->name = name;
	kept->is_all = is_all;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct net_box *b = poll->data;
	uint8_t data[RESOLVER_QUERY_BYTES + 1];
	(void)status;
	(void)events;
	/* More of them wait in the kernel, which drops what is too much. */
	for (int i = 0; i < PER_TURN; i++) {
		struct sockaddr_in from = {0};
		socklen_t length = sizeof from;
		ssize_t n = recvfrom(b->resolver, data, sizeof data, MSG_DONTWAIT,
			(struct sockaddr *)&from, &length);
		if (n < 0)
			return;
		on_question(b, data, (size_t)n, &from);
	}
}

void resolver_open(struct net_box *b, int fd)
{
	if (b->resolver >= 0 || uv_poll_init(b->service->loop, &b->resolver_poll, fd) < 0) {
		fd_close(&fd);
		return;
	}
	b->resolver = fd;
	b->resolver_poll.data = b;
	b->service->n_fds++;
	net_box_hold(b);
	(void)uv_poll_start(&b->resolver_poll, UV_READABLE, on_readable);
}

static void on_resolver_closed(uv_handle_t *handle)
{
	net_box_let_go(handle->data);
}

void resolver_close(struct net_box *b)
{
	while (b->questions) {
		struct question *q = b->questions;
		b->questions = q->next;
		free(q);
	}
	if (b->resolver < 0)
		return;
	uv_close((uv_handle_t *)&b->resolver_poll, on_resolver_closed);
	fd_close(&b->resolver);
	b->service->n_fds--;
}
