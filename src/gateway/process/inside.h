/*
 * The parts of the gateway's process, and what they share.
 *
 *   box.c         the rules, listeners and rows of a box
 *   question.c    the resolver of a box, and the sockets that a name needs before it is answered
 *   connection.c  from an accepted connection to a relay, or to a refusal
 *   consent.c     what a person has said about names and ports
 *   lookup.c      the addresses of names
 *   race.c        connecting to one of several addresses
 *   first.c       what the first bytes of a client say about whom it wants
 *   web.c         connections of whose hosts only HTTP requests are allowed
 *   exchange.c, ask.c  a request, as it comes from the program and as it goes to the server
 *   tunnel.c      a WebSocket, once both sides have agreed on it
 *   swap.c        values in the place of placeholders, and the other way round
 *   leaf.c        certificates of hosts
 *
 * What a box can make the process use, at most: its names and their addresses (3 MiB), rows
 * (112 KiB), questions that wait (80 KiB), consents (11 KiB), BOUND_MAX listening sockets, and
 * CONNECTIONS_MAX connections of two sockets each. A connection holds the first bytes of its client
 * (FIRST_BYTES), and after that in each direction what its receiver does not take, up to
 * RELAY_BYTES: 256 MiB if all receivers of all connections stop reading. Idle connections and those
 * that flow hold nothing. What the kernel keeps for a socket is bounded in the same way (relay.h).
 * A connection for requests holds WEB_HEAD_BYTES instead, and of a request and its response what
 * exchange.h bounds; EXCHANGE_COLLECTED_MAX requests of a box at most are collected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/channel.h"
#include "gateway/frame.h"
#include "gateway/process/names.h"
#include "gateway/process/rows.h"
#include "gateway/rule/secret.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum {
	CONNECTIONS_MAX = 512,
	BOUND_MAX = 512,   /* listening sockets for names with ports from PORT_OWN on */
	PORT_OWN = 1024,   /* the first port that programs of a box can listen on */
	ADDRESSES_MAX = 8, /* of a name, which are tried */
	LOOKUPS_MAX = 8,   /* at once, of a box */
	QUESTIONS_MAX = 64 /* that wait for sockets, of a box */
};

struct connection;
struct web;
struct web_client;
struct upstream;
struct question;
struct lookup;

struct service {
	uv_loop_t *loop;
	struct channel *channel;
	struct net_box *boxes;
	char *scratch;	       /* RELAY_BYTES, for all relays */
	size_t n_fds, max_fds; /* descriptors that boxes made it open */
	struct web *web;       /* NULL: no box has rules for requests */
};

struct listener {
	uv_poll_t poll;
	struct listener *next;
	struct net_box *box;
	int fd;
	uint32_t v4; /* 0: all addresses */
	uint16_t port;
	bool is_bound; /* made here, by bind_socket() */
	bool is_paused;
};

/* A socket that the engine was asked for. */
struct wanted {
	uint32_t v4;
	uint16_t port;
	char name[RULE_HOST_BYTES]; /* for a row */
};

/* The secrets of a box, which requests under way use also after they were replaced. */
struct held_secrets {
	unsigned n_refs;
	struct secrets all;
};

/* What a person has said about a name and port, or was asked. */
struct consent {
	const struct name *name;
	uint16_t port;
	enum consent_state { CONSENT_ASKED, CONSENT_GIVEN, CONSENT_REFUSED } state;
	char reason[GATEWAY_REASON_BYTES]; /* CONSENT_REFUSED */
};

struct net_box {
	struct service *service;
	struct net_box *next;
	uint32_t id;
	struct rules rules;
	struct held_secrets *secrets;  /* counted reference; NULL: none */
	uint16_t ports[2 * RULES_MAX]; /* of the rules */
	size_t n_ports;
	bool has_own;	     /* there are ports from PORT_OWN on */
	struct names *names; /* `arg`: struct lookup, or NULL */
	struct rows rows;
	/* consent.c */
	struct consent *consents; /* GATEWAY_ASKED_MAX; NULL before the first */
	size_t n_consents;
	/* question.c */
	int resolver; /* -1: none */
	uv_poll_t resolver_poll;
	struct question *questions;
	size_t n_questions;
	struct wanted wanted[FRAME_WANTED_MAX]; /* in the order in which they were asked for */
	size_t n_wanted;
	struct listener *listeners;
	size_t n_bound;
	/* lookup.c */
	struct lookup *first_lookup, **last_lookup; /* which wait until others are done */
	unsigned n_lookups;
	/* connection.c */
	struct connection *connections;
	size_t n_connections;
	/* web.c, ask.c */
	struct web_client *clients;
	size_t n_clients;
	struct upstream *upstream;
	unsigned n_collected; /* requests whose bodies are kept whole */
	uv_timer_t tick;      /* while questions wait, or listeners are paused */
	bool is_ready_due;    /* the engine is told that the rules are in force when no socket is
				 wanted */
	bool is_closed;
	unsigned n_uses; /* handles, connections and lookups, which need the box */
};

/* ---- box.c ---- */

/* Make a box without rules or sockets. */
struct net_box *net_box_new(struct service *s, uint32_t id);
/* Take rules, secrets, and further sockets. Owns: takes the values of @secrets. */
void net_box_set_rules(struct net_box *b, const struct rules *rules, struct secrets *secrets);
void net_box_take(struct net_box *b, int *fds, size_t n, bool has_resolver);
/* Tell the engine that the rules are in force, if that is due, and all sockets are made. */
void net_box_say_ready(struct net_box *b);
void net_box_report(struct net_box *b);
/* Give back a counted reference, NULL: none. */
void held_secrets_let_go(struct held_secrets *h);
/* End all that belongs to the box. It is freed when all handles are closed. */
void net_box_close(struct net_box *b);
/* Add to what must end before the box is freed, and remove from it. */
void net_box_hold(struct net_box *b);
void net_box_let_go(struct net_box *b);
/* Have net_box_tick() called while it has something to do. */
void net_box_wake(struct net_box *b);
/* Tell the engine of @row if it is new. */
void net_box_note(struct net_box *b, const struct gateway_row *row);
/* Count one question or connection. @reason: "" if allowed. */
void net_box_count(struct net_box *b, const char *name, uint16_t port, enum gateway_verdict verdict,
	const char *reason);
/* Accept at @fd. Owns: takes @fd. Returns: false if the loop cannot watch it. */
bool net_box_listen(struct net_box *b, int fd, uint32_t v4, uint16_t port, bool is_bound);
/* Return whether a connection to @v4 and @port would be accepted. */
bool net_box_listens(const struct net_box *b, uint32_t v4, uint16_t port);
void listener_close(struct listener *l);

/* ---- question.c ---- */

void resolver_open(struct net_box *b, int fd);
void resolver_close(struct net_box *b);
/* Answer the questions that have waited too long. Returns: whether some still wait. */
bool resolver_expire(struct net_box *b);
/* Ask for the sockets that the rules make necessary, for literal addresses and known names. */
void sockets_want(struct net_box *b);
/* Bind a socket that was asked for; -1: there is none. Owns: takes @fd. */
void sockets_take(struct net_box *b, int fd);

/* ---- consent.c ---- */

/*
 * Return whether programs may connect to @port of @name, as far as a person decides that; without
 * such a rule: CONSENT_GIVEN. If the person was not asked yet, do that.
 * @reason: why not, if the result is CONSENT_REFUSED.
 */
enum consent_state consent_need(struct net_box *b, const struct name *name, uint16_t port,
	char reason[GATEWAY_REASON_BYTES]);
/* The same, without asking. */
bool consent_is_given(const struct net_box *b, const struct name *name, uint16_t port);
/* Take an answer; @reason: why not, NULL: they may. One that was not asked for is ignored. */
void consent_answer(struct net_box *b, const char *name, uint16_t port, const char *reason);
/* Forget all answers. */
void consents_forget(struct net_box *b);

/* ---- connection.c ---- */

/*
 * Copy to @out those of the @n addresses, at most ADDRESSES_MAX, that @rule allows to connect to;
 * if the rule has an address itself, that one in their place. @is_named: they are those of a name.
 * Returns: how many; if 0, @reason says why.
 */
size_t connection_choose(const struct rule *rule, bool is_named, const struct ip *ips, size_t n,
	struct ip *out, char reason[GATEWAY_REASON_BYTES]);

/* Serve a connection that was accepted. Owns: takes @fd. */
void connection_new(struct net_box *b, int fd);
/* End those that the rules do not allow any more. */
void connections_recheck(struct net_box *b);
void connections_end(struct net_box *b);
/* Add the bytes since the last call to the rows. */
void connections_count(struct net_box *b);

/* ---- web.c ---- */

/* Prepare for boxes with rules for requests. @certificate, @key: the authority, in PEM. Errors:
 * ERR_NOT_FOUND if a library is missing; ERR_PROTOCOL, ERR_INTERNAL. */
int web_open(struct service *s, const char *certificate, const char *key, struct err *err);
/* Serve a connection to @name, of which only requests are allowed. Owns: takes @fd. */
void web_take(struct net_box *b, int fd, struct name *name, uint16_t port);
/* End those that the rules do not allow any more; end all. */
void web_recheck(struct net_box *b);
void web_end(struct net_box *b);
/* Add the bytes since the last call to the rows. */
void web_count(struct net_box *b);
