/*
 * A connection of a program of a box.
 *
 *     ASKING       whether a person allows it (consent.c), if a rule says so
 *     LOOKING UP   the name has no fresh addresses (lookup.h); for literal and mapped addresses,
 *                  nothing is looked up
 *     DIALLING     one of the addresses that the rule allows (race.h)
 *     WAITING      for the first bytes. If the server speaks first, this is neither TLS nor HTTP,
 *                  and nothing is compared. If the client does, its bytes are held until they tell
 *                  whom it wants (first.h). If these are only the beginning of a line, and no more
 *                  comes for UNSURE_MS, they are sent on, because the server may have to answer
 *                  before the client goes on; they are still looked at together with what follows.
 *     RELAYING
 *
 * Until WAITING, nothing is read from the client. A connection to a literal address is not compared
 * with a name, because there is none: who allows an address allows all that its server serves.
 *
 * What is refused is reset, and has a row that says why.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/relay.h"
#include "base/timer.h"
#include "gateway/process/first.h"
#include "gateway/process/inside.h"
#include "gateway/process/lookup.h"
#include "gateway/process/race.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { STALL_MS = 10000, UNSURE_MS = 100, N_SIDES = 2 };

static const uint32_t FAKE_MASK = UINT32_C(0xfffe0000); /* of NAMES_NETWORK */

/* What came of reading from the client. */
enum heard {
	HEARD_NOTHING,
	HEARD_PART, /* more is needed */
	HEARD_ALL   /* it is decided; the connection may have been freed */
};

struct connection {
	struct net_box *box;
	struct connection *next, **at; /* at: what points to this one */
	int fds[N_SIDES];	       /* the client's and the server's, until a relay has them */
	uint32_t v4;		       /* which the client has connected to */
	uint16_t port;
	struct name *name; /* NULL: the address is literal */
	struct ip ip;	   /* of the server */
	uint16_t ip_port;
	struct lookup_waiter waiter;
	struct race *race;
	uv_poll_t polls[N_SIDES];
	uv_timer_t timer;
	unsigned n_handles;
	bool is_asking, is_waiting, is_over;
	uint8_t *held;	       /* the first bytes of the client, up to FIRST_BYTES */
	size_t n_held, n_sent; /* n_sent: how many of them were sent on */
	bool is_unsure;	       /* FIRST_UNSURE of the bytes held */
	bool is_stalling;      /* the timer is that of on_stalled() */
	struct relay *relay;
	uint64_t passed[N_SIDES], told[N_SIDES];
};

static void reset(int fd)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	fd_close(&fd);
}

static const char *name_of(const struct connection *c, char out[RULE_HOST_BYTES])
{
	char text[IP_TEXT_BYTES];
	const struct ip ip = ip_of_v4(c->v4);
	if (c->name)
		return c->name->host;
	ip_write(&ip, text);
	snprintf(out, RULE_HOST_BYTES, "%s", text);
	return out;
}

static void count(const struct connection *c, enum gateway_verdict verdict, const char *reason)
{
	char name[RULE_HOST_BYTES];
	net_box_count(c->box, name_of(c, name), c->port, verdict, reason);
}

/* Add to its row what has passed since the last time. */
static void count_bytes(struct connection *c)
{
	char name[RULE_HOST_BYTES];
	struct gateway_row row = {.port = c->port,
		.bytes_out = c->passed[0] - c->told[0],
		.bytes_in = c->passed[1] - c->told[1]};
	if (row.bytes_out == 0 && row.bytes_in == 0)
		return;
	memcpy(c->told, c->passed, sizeof c->told);
	snprintf(row.name, sizeof row.name, "%s", name_of(c, name));
	net_box_note(c->box, &row);
}

/* ---- the end ---- */

static void free_if_over(struct connection *c)
{
	struct net_box *b = c->box;
	if (!c->is_over || c->n_handles > 0)
		return;
	free(c->held);
	free(c);
	net_box_let_go(b);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct connection *c = handle->data;
	c->n_handles--;
	free_if_over(c);
}

/* Stop waiting for first bytes. */
static void leave_waiting(struct connection *c)
{
	if (!c->is_waiting)
		return;
	c->is_waiting = false;
	for (int i = 0; i < N_SIDES; i++)
		uv_close((uv_handle_t *)&c->polls[i], on_handle_closed);
	uv_close((uv_handle_t *)&c->timer, on_handle_closed);
}

static void end(struct connection *c)
{
	if (c->is_over)
		return;
	c->is_over = true;
	lookup_forget(&c->waiter);
	if (c->race)
		race_stop(c->race);
	leave_waiting(c);
	for (int i = 0; i < N_SIDES; i++) {
		if (c->fds[i] < 0)
			continue;
		reset(take_fd(c->fds[i]));
		c->box->service->n_fds--;
	}
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	c->box->n_connections--;
	free_if_over(c);
}

/* End the connection before it has a relay. */
static void refuse(struct connection *c, enum gateway_verdict verdict, const char *reason)
{
	count(c, verdict, reason);
	end(c);
}

/* ---- relaying ---- */

static void on_relay_done(void *arg)
{
	struct connection *c = arg;
	count_bytes(c);
	c->relay = NULL;
	c->box->service->n_fds -= N_SIDES;
	end(c);
}

/* Pass on @data, and then everything. */
static void begin_relay(struct connection *c, const void *data, size_t bytes)
{
	struct service *s = c->box->service;
	leave_waiting(c);
	c->relay = relay_start(
		s->loop, take_fd(c->fds[0]), take_fd(c->fds[1]), s->scratch, on_relay_done, c);
	if (!c->relay) {
		s->n_fds -= N_SIDES;
		refuse(c, GATEWAY_FAILED, "the gateway has no memory");
		return;
	}
	relay_count(c->relay, c->passed);
	count(c, GATEWAY_ALLOWED, "");
	if (bytes == 0)
		return;
	c->passed[0] += bytes;
	if (relay_begin(c->relay, 1, data, bytes) < 0)
		relay_stop(c->relay);
}

/* ---- waiting for first bytes ---- */

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_stalled(uv_timer_t *timer)
{
	refuse(timer->data, GATEWAY_REFUSED, "its first message did not come within 10 s");
}

/* Keep @data, which came last, until there is more. */
static enum heard hold(struct connection *c, const uint8_t *data, size_t bytes)
{
	if (!c->held) {
		c->held = malloc(FIRST_BYTES);
		if (!c->held) {
			refuse(c, GATEWAY_FAILED, "the gateway has no memory");
			return HEARD_ALL;
		}
		memcpy(c->held, data, bytes);
	}
	c->n_held += bytes;
	return HEARD_PART;
}

/* Read from the client and decide. */
static enum heard read_first(struct connection *c)
{
	char reason[GATEWAY_REASON_BYTES];
	uint8_t *data = c->held ? c->held : (uint8_t *)c->box->service->scratch;
	ssize_t n = recv(c->fds[0], data + c->n_held, FIRST_BYTES - c->n_held, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return HEARD_NOTHING;
	size_t bytes = c->n_held + (size_t)MAX(n, 0);
	enum first_verdict verdict =
		n > 0 ? first_read(c->name->host, data, bytes, reason) : FIRST_PASS;
	if (verdict == FIRST_MORE || verdict == FIRST_UNSURE) {
		c->is_unsure = verdict == FIRST_UNSURE;
		return hold(c, data, (size_t)n);
	}
	if (n < 0)
		refuse(c, GATEWAY_FAILED, "the program has given it up");
	else if (n == 0 && c->n_held > 0 && !c->is_unsure)
		refuse(c, GATEWAY_REFUSED, "its first message ends in the middle");
	else if (verdict == FIRST_REFUSE)
		refuse(c, GATEWAY_REFUSED, reason);
	else
		begin_relay(c, data + c->n_sent, bytes - c->n_sent);
	return HEARD_ALL;
}

/* Send on what is held, as far as the server takes it, and wait for either side. */
static void on_unsure(uv_timer_t *timer)
{
	struct connection *c = timer->data;
	ssize_t n = send(
		c->fds[1], c->held + c->n_sent, c->n_held - c->n_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0) {
		c->n_sent += (size_t)n;
		c->passed[0] += (size_t)n;
	}
	if (c->n_sent < c->n_held && (n >= 0 || errno == EAGAIN))
		timer_start(&c->timer, on_unsure, UNSURE_MS, 0);
	/* If sending has failed, the relay will find out. */
	(void)uv_poll_start(&c->polls[1], UV_READABLE, on_readable);
}

/* Wait for more of the first message: only the client is watched, and for a time only. */
static void expect_more(struct connection *c)
{
	(void)uv_poll_stop(&c->polls[1]);
	if (c->is_unsure)
		timer_start(&c->timer, on_unsure, UNSURE_MS, 0);
	else if (!c->is_stalling)
		timer_start(&c->timer, on_stalled, STALL_MS, 0);
	c->is_stalling = !c->is_unsure;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct connection *c = poll->data;
	(void)status;
	(void)events;
	/* What the client has sent decides, even if the server was as fast. */
	enum heard heard = read_first(c);
	if (heard == HEARD_PART)
		expect_more(c);
	else if (heard == HEARD_NOTHING && poll == &c->polls[1])
		begin_relay(c, c->held ? c->held + c->n_sent : NULL, c->n_held - c->n_sent);
}

static void wait_for_first(struct connection *c)
{
	uv_loop_t *loop = c->box->service->loop;
	(void)uv_timer_init(loop, &c->timer);
	c->timer.data = c;
	c->n_handles++;
	c->is_waiting = true;
	for (int i = 0; i < N_SIDES; i++) {
		/* This fails only for a descriptor that the loop has already. */
		if (uv_poll_init(loop, &c->polls[i], c->fds[i]) < 0)
			xdie("a poll");
		c->polls[i].data = c;
		c->n_handles++;
		(void)uv_poll_start(&c->polls[i], UV_READABLE, on_readable);
	}
	if (c->n_held > 0)
		expect_more(c);
}

/* ---- dialling ---- */

static const struct rule *rule_of(const struct connection *c)
{
	const struct rules *rules = &c->box->rules;
	if (!c->name)
		return rules_for_address(rules, c->v4, c->port);
	return consent_is_given(c->box, c->name, c->port)
		? rules_for_port(rules, c->name->host, c->port)
		: NULL;
}

/* An address that stands for a name in boxes leads nowhere else. */
static bool is_fake(const struct ip *ip)
{
	uint32_t v4;
	return ip_is_v4(ip, &v4) && (v4 & FAKE_MASK) == NAMES_NETWORK;
}

static bool may_dial(const struct rule *rule, bool is_named, const struct ip *ip)
{
	if (is_fake(ip))
		return false;
	return !is_named || rule->is_mapped || !ip_kind(ip) ||
		(rule->may_be_private && !ip_is_own(ip));
}

/* Return whether @rule allows what the connection has got. */
static bool is_still_allowed(const struct connection *c, const struct rule *rule)
{
	if (!rule || !may_dial(rule, c->name != NULL, &c->ip))
		return false;
	return rule->is_mapped
		? c->ip_port == rule->to_port && memcmp(&c->ip, &rule->to, sizeof c->ip) == 0
		: c->ip_port == c->port;
}

static const char *why_not_dialled(int sys, char out[GATEWAY_REASON_BYTES])
{
	if (sys == ETIMEDOUT)
		return "its server did not answer within 10 s";
	if (sys == EMFILE || sys == ENFILE)
		return "the gateway has too many descriptors";
	snprintf(out, GATEWAY_REASON_BYTES, "%s", strerror(sys));
	out[0] = (char)tolower((unsigned char)out[0]);
	return out;
}

static void on_dialled(void *arg, int fd, const struct ip *ip, int sys)
{
	struct connection *c = arg;
	char why[GATEWAY_REASON_BYTES];
	c->race = NULL;
	if (fd < 0) {
		refuse(c, GATEWAY_FAILED, why_not_dialled(sys, why));
		return;
	}
	c->fds[1] = fd;
	c->box->service->n_fds++;
	c->ip = *ip;
	if (!is_still_allowed(c, rule_of(c)))
		refuse(c, GATEWAY_REFUSED, "the rules have changed");
	else if (!c->name)
		begin_relay(c, NULL, 0);
	else if (read_first(c) != HEARD_ALL)
		wait_for_first(c);
}

/* NOLINTNEXTLINE(readability-function-size) */
size_t connection_choose(const struct rule *rule, bool is_named, const struct ip *ips, size_t n,
	struct ip *out, char reason[GATEWAY_REASON_BYTES])
{
	char text[IP_TEXT_BYTES];
	size_t n_good = 0;
	if (rule->is_mapped) {
		ips = &rule->to;
		n = 1;
	}
	for (size_t i = 0; i < n; i++)
		if (may_dial(rule, is_named, &ips[i]))
			out[n_good++] = ips[i];
	if (n_good == 0) {
		const char *kind = ip_kind(&ips[0]);
		ip_write(&ips[0], text);
		snprintf(reason, GATEWAY_REASON_BYTES, "its address %s is %s", text,
			kind ? kind : "reserved");
	}
	return n_good;
}

/* Dial those of the addresses that the rule allows. */
static void dial(struct connection *c, const struct rule *rule, const struct ip *ips, size_t n)
{
	struct ip good[ADDRESSES_MAX];
	char reason[GATEWAY_REASON_BYTES];
	size_t n_good = connection_choose(rule, c->name != NULL, ips, n, good, reason);
	if (n_good == 0) {
		refuse(c, GATEWAY_REFUSED, reason);
		return;
	}
	c->ip_port = rule->is_mapped ? rule->to_port : c->port;
	struct race *race = race_start(c->box->service, good, n_good, c->ip_port, on_dialled, c);
	if (race)
		c->race = race;
}

static void on_addresses(
	struct lookup_waiter *w, const struct ip *ips, size_t n, const char *reason)
{
	struct connection *c = container_of(w, struct connection, waiter);
	const struct rule *rule = rule_of(c);
	if (n == 0)
		refuse(c, GATEWAY_FAILED, reason);
	else if (!rule)
		refuse(c, GATEWAY_REFUSED, "the rules have changed");
	else
		dial(c, rule, ips, n);
}

/* Return whether a person has allowed the connection, for a step that is over. */
static bool is_allowed_once(const struct connection *c)
{
	return c->name && !consent_is_given(c->box, c->name, c->port);
}

static const char *why_refused(const struct connection *c, const struct rule *rule)
{
	const struct service *s = c->box->service;
	if (!c->name && (c->v4 & FAKE_MASK) == NAMES_NETWORK)
		return "it stands for no name";
	if (c->box->n_connections + c->box->n_clients > CONNECTIONS_MAX)
		return "the box has more than 512 connections";
	if (s->n_fds + N_SIDES > s->max_fds)
		return "the gateway has too many descriptors";
	if (rule)
		return NULL;
	return c->name ? "no rule names this port" : "no rule names it";
}

static void pass_to_web(struct connection *c)
{
	struct net_box *b = c->box;
	struct name *name = c->name;
	uint16_t port = c->port;
	int fd = take_fd(c->fds[0]);
	b->service->n_fds--;
	net_box_hold(b);
	end(c);
	if (b->service->web)
		web_take(b, fd, name, port);
	else
		reset(fd);
	net_box_let_go(b);
}

static void begin(struct connection *c)
{
	char reason[GATEWAY_REASON_BYTES];
	const struct ip literal = ip_of_v4(c->v4);
	const struct rule *rule = c->name ? rules_for_port(&c->box->rules, c->name->host, c->port)
					  : rules_for_address(&c->box->rules, c->v4, c->port);
	const char *why = why_refused(c, rule);
	enum consent_state consent =
		!why && c->name ? consent_need(c->box, c->name, c->port, reason) : CONSENT_GIVEN;
	c->is_asking = consent == CONSENT_ASKED;
	if (c->is_asking)
		return;
	if (consent == CONSENT_REFUSED)
		why = reason;
	if (why)
		refuse(c, GATEWAY_REFUSED, why);
	else if (c->name && rules_are_http(&c->box->rules, c->name->host, c->port))
		pass_to_web(c);
	else if (!c->name)
		dial(c, rule, &literal, 1);
	else if (rule->is_mapped)
		dial(c, rule, NULL, 0);
	else
		lookup_start(c->box, c->name, &c->waiter);
}

void connection_new(struct net_box *b, int fd)
{
	struct sockaddr_in6 at = {0};
	struct ip ip;
	socklen_t bytes = sizeof at;
	struct connection *c = xnew(struct connection);
	*c = (struct connection){.box = b, .fds = {fd, -1}, .at = &b->connections};
	c->waiter.done = on_addresses;
	c->next = b->connections;
	if (c->next)
		c->next->at = &c->next;
	b->connections = c;
	b->n_connections++;
	b->service->n_fds++;
	net_box_hold(b);
	if (getsockname(fd, (struct sockaddr *)&at, &bytes) < 0 ||
		!ip_from(&ip, (const struct sockaddr *)&at) || !ip_is_v4(&ip, &c->v4)) {
		end(c);
		return;
	}
	/* The port is at the same place for both families. */
	c->port = ntohs(at.sin6_port);
	c->name = names_at(b->names, c->v4);
	begin(c);
}

void connections_recheck(struct net_box *b)
{
	struct connection *next;
	for (struct connection *c = b->connections; c; c = next) {
		next = c->next;
		if (c->is_asking) {
			begin(c);
			continue;
		}
		const struct rule *rule = rule_of(c);
		bool is_dialled = c->relay || c->is_waiting;
		if (c->name && rules_are_http(&c->box->rules, c->name->host, c->port))
			rule = NULL; /* only requests are allowed now */
		if (is_dialled ? is_still_allowed(c, rule) : rule != NULL)
			continue;
		if (!c->relay) {
			refuse(c, GATEWAY_REFUSED,
				is_allowed_once(c) ? "its step is over" : "the rules have changed");
			continue;
		}
		/* That a connection ends with its step is no refusal: most are only left over. */
		if (!is_allowed_once(c))
			count(c, GATEWAY_REFUSED, "the rules have changed");
		relay_stop(c->relay);
	}
}

void connections_end(struct net_box *b)
{
	struct connection *next;
	for (struct connection *c = b->connections; c; c = next) {
		next = c->next;
		if (c->relay)
			relay_stop(c->relay);
		else
			end(c);
	}
}

void connections_count(struct net_box *b)
{
	for (struct connection *c = b->connections; c; c = c->next)
		count_bytes(c);
}
