/*
 * The network of one box.
 *
 * The sockets on which the gateway answers programs must be made in the network namespace of the
 * box. The warden makes them (box_open()): the resolver, and a listener for each port below 1024
 * that the rules name. It also makes the addresses that rules name addresses of the box. The
 * gateway gets the sockets, with the rules. For other ports, the gateway asks for one unconnected
 * socket at a time: see `want_socket`.
 *
 * New rules can name new ports and addresses. So network_set_rights() has the warden open what is
 * not open yet, and passes it on with the rules. What is open stays open, also if no rule names it
 * any more: the gateway then refuses what arrives there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "session/net/network.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "session/start/trust.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* Ports from here on are not privileged: programs of the box can listen there themselves. */
enum { UNPRIVILEGED_PORT = 1024 };

/* An unconnected socket that the warden is making for the gateway. */
struct wanted {
	struct network *network;
	struct box_door *door;
	struct wanted *next;
};

struct network {
	struct box *box;
	struct rules rules; /* the last that were given, which may not be in force */
	struct secrets secrets;
	struct network_events events;
	struct gateway_box *gate; /* NULL before the sockets are there, and after an error */
	struct box_door *door;	  /* the sockets are being made */
	struct warden_net asked;  /* what @door makes */
	/* What was opened so far. */
	struct warden_net open;
	struct wanted *wanted;
};

static void tell_ready(struct network *n, const struct err *err)
{
	n->events.ready(n->events.arg, err);
}

/* ---- what must be opened in the box ---- */

static bool has_listener(const struct warden_net *net, uint16_t port)
{
	for (size_t i = 0; i < net->n_listeners; i++)
		if (net->listeners[i].port == port)
			return true;
	return false;
}

static int add_port(struct network *n, uint16_t port, struct err *err)
{
	struct warden_net *net = &n->asked;
	if (port >= UNPRIVILEGED_PORT || has_listener(net, port) || has_listener(&n->open, port))
		return 0;
	if (net->n_listeners + n->open.n_listeners == WARDEN_LISTENERS_MAX)
		return err_fail(err, ERR_LIMIT, "ports from 1024 on do not count",
			"the rules name more than %d ports below 1024", WARDEN_LISTENERS_MAX);
	net->listeners[net->n_listeners++].port = port;
	return 0;
}

static int add_network(struct network *n, const struct rule *r, struct err *err)
{
	struct warden_net *net = &n->asked;
	if (net->n_networks == WARDEN_NETWORKS_MAX)
		return err_fail(err, ERR_LIMIT, "name networks with fewer bits, or hosts",
			"the rules name more than %d addresses and networks", WARDEN_NETWORKS_MAX);
	net->networks[net->n_networks].ip = r->network;
	net->networks[net->n_networks++].bits = r->bits;
	return 0;
}

/* Collect in @n->asked what the rules need and is not open. */
static int collect(struct network *n, struct err *err)
{
	uint16_t ports[2 * RULES_MAX];
	size_t n_ports = rules_ports(&n->rules, ports);
	int r = 0;
	n->asked = (struct warden_net){.has_resolver = !n->open.has_resolver};
	for (size_t i = 0; r == 0 && i < n_ports; i++)
		r = add_port(n, ports[i], err);
	for (size_t i = 0; r == 0 && i < n->rules.n; i++)
		if (n->rules.v[i].kind == RULE_NETWORK)
			r = add_network(n, &n->rules.v[i], err);
	return r;
}

/* ---- the gateway's callbacks ---- */

static void on_ready(void *arg, const struct err *err)
{
	tell_ready(arg, err);
}

static void on_ask(void *arg, const char *name, uint16_t port)
{
	struct network *n = arg;
	n->events.ask(n->events.arg, name, port);
}

static void on_row(void *arg, const struct gateway_row *row)
{
	struct network *n = arg;
	n->events.row(n->events.arg, row);
}

static void on_lost(void *arg, const struct err *err)
{
	struct network *n = arg;
	n->events.lost(n->events.arg, n, err);
}

static void drop_wanted(struct network *n, struct wanted *w)
{
	struct wanted **at = &n->wanted;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	free(w);
}

static void on_socket(void *arg, const int *fds, const struct err *err attr_unused)
{
	struct wanted *w = arg;
	struct network *n = w->network;
	drop_wanted(n, w);
	gateway_box_socket(n->gate, fds ? fds[0] : -1);
}

static void on_want_socket(void *arg)
{
	struct network *n = arg;
	struct wanted *w = xnew(struct wanted);
	w->network = n;
	w->next = n->wanted;
	n->wanted = w;
	struct box_door *door = box_open(n->box, WARDEN_DOOR_SOCKET, NULL, on_socket, w);
	if (door) /* else @w was freed */
		w->door = door;
}

/* ---- opening ---- */

static void note_open(struct network *n)
{
	n->open.has_resolver |= n->asked.has_resolver;
	for (size_t i = 0; i < n->asked.n_listeners; i++)
		n->open.listeners[n->open.n_listeners++] = n->asked.listeners[i];
}

static void hand_over(struct network *n, struct gateway_sockets *sockets)
{
	const struct gateway_events events = {.ready = on_ready,
		.want_socket = on_want_socket,
		.ask = on_ask,
		.row = on_row,
		.lost = on_lost,
		.arg = n};
	const struct engine *engine = n->box->engine;
	const struct gateway_rights rights = {.rules = &n->rules,
		.secrets = &n->secrets,
		.authority = engine->trust->is_made ? &engine->trust->authority : NULL};
	note_open(n);
	if (n->gate)
		gateway_box_rules(n->gate, &rights, sockets);
	else
		n->gate = gateway_box_open(engine->gateway, &rights, sockets, &events);
}

/* Take the sockets that were opened. Errors: ERR_BUSY: a port is taken; then all are closed. */
static int take_sockets(
	const struct network *n, const int *fds, struct gateway_sockets *out, struct err *err)
{
	size_t at = n->asked.has_resolver;
	int missing = -1;
	*out = (struct gateway_sockets){.resolver = n->asked.has_resolver ? fds[0] : -1};
	for (size_t i = 0; i < n->asked.n_listeners; i++, at++)
		if (fds[at] >= 0)
			out->listeners[out->n_listeners++] = fds[at];
		else
			missing = (int)n->asked.listeners[i].port;
	if (missing < 0)
		return 0;
	fd_close(&out->resolver);
	while (out->n_listeners > 0)
		fd_close(&out->listeners[--out->n_listeners]);
	return err_fail(err, ERR_BUSY, "end that program, or leave out the rule",
		"port %d is taken by a program of the box", missing);
}

static void on_opened(void *arg, const int *fds, const struct err *err)
{
	struct network *n = arg;
	struct gateway_sockets sockets;
	struct err error;
	n->door = NULL;
	if (!fds)
		tell_ready(n, err);
	else if (take_sockets(n, fds, &sockets, &error) < 0)
		tell_ready(n, &error);
	else
		hand_over(n, &sockets);
}

static void begin(struct network *n)
{
	struct err err;
	struct gateway_sockets nothing = {.resolver = -1};
	if (collect(n, &err) < 0)
		tell_ready(n, &err);
	else if (n->asked.has_resolver || n->asked.n_listeners > 0 || n->asked.n_networks > 0)
		n->door = box_open(n->box, WARDEN_DOOR_NET, &n->asked, on_opened, n);
	else
		hand_over(n, &nothing);
}

static void take_rights(struct network *n, const struct network_rights *rights)
{
	n->rules = *rights->rules;
	secrets_done(&n->secrets);
	if (rights->secrets)
		secrets_copy(&n->secrets, rights->secrets, true);
}

struct network *network_open(
	struct box *b, const struct network_rights *rights, const struct network_events *events)
{
	struct network *n = xnew(struct network);
	n->box = box_hold(b);
	take_rights(n, rights);
	n->events = *events;
	begin(n);
	return n;
}

void network_set_rights(struct network *n, const struct network_rights *rights)
{
	take_rights(n, rights);
	begin(n);
}

void network_answer(struct network *n, const char *name, uint16_t port, const char *reason)
{
	if (n->gate)
		gateway_box_answer(n->gate, name, port, reason);
}

void network_forget(struct network *n)
{
	if (n->gate)
		gateway_box_forget(n->gate);
}

void network_report(struct network *n, gateway_report_fn *done, void *arg)
{
	if (n->gate)
		gateway_box_report(n->gate, done, arg);
	else
		done(arg, NULL, 0, 0, NULL);
}

bool network_listens(
	const struct network *n, const struct rules *rules, const char *address, uint16_t port)
{
	struct in_addr at;
	if (inet_pton(AF_INET, address, &at) != 1)
		return false;
	uint32_t ip = ntohl(at.s_addr);
	if ((ip ^ WARDEN_NET_IP) >> (32 - WARDEN_NET_BITS) == 0)
		return true;
	if (ip != 0)
		return rules_for_address(rules, ip, port) != NULL;
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].kind == RULE_NETWORK && rules->v[i].port == port)
			return true;
	return has_listener(&n->open, port);
}

void network_close(struct network *n)
{
	if (n->door)
		box_open_forget(n->door);
	for (struct wanted *w = n->wanted, *next; w; w = next) {
		next = w->next;
		if (w->door)
			box_open_forget(w->door);
		free(w);
	}
	if (n->gate)
		gateway_box_close(n->gate);
	box_let_go(n->box);
	secrets_done(&n->secrets);
	free(n);
}
