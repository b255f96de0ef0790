/* The network of one box: what its rules allow, by way of the gateway.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/gateway.h"
#include "session/box/box.h"

struct network;

struct network_events {
	/* The rules are in force, or @err says why the box has no network. Called once after
	 * network_open(), and once after each network_set_rules(), from the loop or during the
	 * call. */
	void (*ready)(void *arg, const struct err *err);
	/* A person has to decide about a connection, see struct gateway_events. */
	void (*ask)(void *arg, const char *name, uint16_t port);
	/* A program of the box has asked for something new, see struct gateway_events. */
	void (*row)(void *arg, const struct gateway_row *row);
	/* The gateway has died. From now on, the box of @n has no network. The callee may close @n.
	 */
	void (*lost)(void *arg, struct network *n, const struct err *err);
	void *arg;
};

/* What programs may connect to, and what is put into their requests. Borrowed; copied by what takes
 * it. */
struct network_rights {
	const struct rules *rules;
	const struct secrets *secrets; /* NULL: none */
};

/*
 * Give a network to @b. @events is copied.
 * Owns:    the caller ends it with network_close(). The network holds a reference to the box.
 * Errors, passed to `ready`: those of box_open(), ERR_BOX (no gateway), ERR_LIMIT (too many ports,
 * or more secrets than a message has).
 */
struct network *network_open(
	struct box *b, const struct network_rights *rights, const struct network_events *events);

/* Replace the rights. Connections that they do not allow end. If `ready` gets an error, the rules
 * from before stay in force. Must not be called before `ready` was called. */
void network_set_rights(struct network *n, const struct network_rights *rights);

/* Answer `ask`; see gateway_box_answer(). Forget all answers; see gateway_box_forget(). */
void network_answer(struct network *n, const char *name, uint16_t port, const char *reason);
void network_forget(struct network *n);

/* Ask what programs have done since the last report, see gateway_box_report(). @done is called from
 * the loop or during the call. */
void network_report(struct network *n, gateway_report_fn *done, void *arg);

/* Return whether the gateway listens at @address and @port of the box: programs do not then.
 * @rules: those in force. */
bool network_listens(
	const struct network *n, const struct rules *rules, const char *address, uint16_t port);

/* End all connections, and free @n. None of its callbacks is called any more. */
void network_close(struct network *n);
