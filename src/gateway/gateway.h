/*
 * The gateway: a process that connects boxes to what their rules name. This is the engine's side.
 *
 * The engine starts one gateway when the first box needs it. For each such box, the gateway gets
 * the rules and sockets that were made in the network namespace of the box, and answers and
 * connects from then on by itself. It tells what programs asked for and what became of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "gateway/authority.h"
#include "gateway/rule/rule.h"
#include "gateway/rule/secret.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum {
	GATEWAY_LISTENERS_MAX = 14, /* ports below 1024 of one box */
	GATEWAY_ROWS_MAX = 256,	    /* rows of one report; what comes on top is counted only */
	GATEWAY_REASON_BYTES = 160,
	GATEWAY_ASKED_MAX = 64 /* places that a box can ask about until gateway_box_forget() */
};

struct gateway;
struct gateway_box;

/* What became of a name that was asked for, or of connections. */
enum gateway_verdict { GATEWAY_ALLOWED, GATEWAY_REFUSED, GATEWAY_FAILED, GATEWAY_VERDICT_END_ };

/* Return the word for @verdict: "allowed", "refused", "failed". */
const char *gateway_verdict_word(enum gateway_verdict verdict);

/* What programs of a box did with one name and port, with one outcome. */
struct gateway_row {
	char name[RULE_HOST_BYTES]; /* a name, or an address as text */
	uint16_t port;		    /* 0: only the address of the name was asked for */
	enum gateway_verdict verdict;
	/* why it was refused or failed, a sentence without its subject: "no rule names it", "its
	 * address 10.0.0.1 is private", "connection refused"; "" if allowed */
	char reason[GATEWAY_REASON_BYTES];
	uint64_t n;		      /* questions or connections */
	uint64_t bytes_in, bytes_out; /* to and from the box */
};

/* Called once with the rows since the last report, borrowed; @n_more: rows that did not fit. If the
 * gateway has died, @err says so. */
typedef void gateway_report_fn(void *arg, const struct gateway_row *rows, size_t n, uint64_t n_more,
	const struct err *err);

/* The sockets of a box. -1: there is none. */
struct gateway_sockets {
	int resolver; /* UDP, bound to port 53 of the resolver's address */
	size_t n_listeners;
	int listeners[GATEWAY_LISTENERS_MAX]; /* TCP, listening */
};

struct gateway_events {
	/* Called once: the rules are in force, or @err says why not. ERR_LIMIT: they and the
	 * secrets have more bytes than a message. */
	void (*ready)(void *arg, const struct err *err);
	/* The gateway needs one more unconnected IPv4 TCP socket of the box; answer with
	 * gateway_box_socket(). */
	void (*want_socket)(void *arg);
	/* A program wants to connect to @port of @name, about which a rule "ask" says that a person
	 * decides; answer with gateway_box_answer(). Asked once for each name and port, until
	 * gateway_box_forget(). NULL: there is no such rule. */
	void (*ask)(void *arg, const char *name, uint16_t port);
	/* A row is new since the last report. @row is borrowed. May be NULL. */
	void (*row)(void *arg, const struct gateway_row *row);
	/* The gateway has died: the box has no network until gateway_box_open() is called anew.
	 * Called at most once, and not before `ready`. */
	void (*lost)(void *arg, const struct err *err);
	void *arg;
};

/* What all boxes have asked for since the engine began. Each report adds to it, and the end of a
 * box. */
struct gateway_totals {
	uint64_t n[GATEWAY_VERDICT_END_]; /* questions and connections */
	uint64_t bytes_in, bytes_out;
};

/*
 * Make the engine's side. The process is started by the first gateway_box_open(), and anew by the
 * next one after it has died. @program: path of retort-gateway, borrowed.
 */
struct gateway *gateway_new(uv_loop_t *loop, const char *program);
struct gateway_totals gateway_totals(const struct gateway *g);
/* End the process. All boxes must have been closed. @done is called from the loop. */
void gateway_stop(struct gateway *g, void (*done)(void *arg), void *arg);

/* What a box may do: its rules, its secrets, and the authority that it trusts, NULL: none. The
 * authority goes to the process only with rules for requests. Borrowed. */
struct gateway_rights {
	const struct rules *rules;
	const struct secrets *secrets;
	const struct authority *authority;
};

/*
 * Give a box its network. @rights and @events are copied.
 * Owns:    takes the descriptors of @sockets in any case.
 * Returns: the box, which the caller ends with gateway_box_close(); `ready` follows from the loop.
 */
struct gateway_box *gateway_box_open(struct gateway *g, const struct gateway_rights *rights,
	struct gateway_sockets *sockets, const struct gateway_events *events);

/* Replace the rights; connections that the new rules do not allow are ended. `ready` is called
 * again. @sockets: further sockets, for ports that are new; takes its descriptors. */
void gateway_box_rules(struct gateway_box *b, const struct gateway_rights *rights,
	struct gateway_sockets *sockets);
/* Answer `want_socket`. @fd: the socket, which is taken, or -1 if none could be made. */
void gateway_box_socket(struct gateway_box *b, int fd);
/* Answer `ask`, until gateway_box_forget(). @reason: why not, a sentence without its subject;
 * NULL: programs may connect. */
void gateway_box_answer(struct gateway_box *b, const char *name, uint16_t port, const char *reason);
/* Forget all answers, and refuse what waits for one. Connections that were allowed so, end. */
void gateway_box_forget(struct gateway_box *b);
/* Ask for the rows since the last report. One report at a time. */
void gateway_box_report(struct gateway_box *b, gateway_report_fn *done, void *arg);
/* End the box's connections. No callback is called any more. */
void gateway_box_close(struct gateway_box *b);
