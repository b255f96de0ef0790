/*
 * The session's access to the network.
 *
 * A session with network rules gives a network to each box that it gets (networking_begin()). A
 * step or a program waits until the rules are in force (networking_await()); if the box cannot get
 * its network, they fail. When a step is over, the gateway reports what the box's programs have
 * asked for since the last report, and that goes into the record.
 *
 * A step can have its session give up the box. The network of that box then stays until the report
 * is there, though its connections have nobody left to talk to.
 *
 * When the gateway dies, connections are lost, but nothing else: the box gets a new gateway, and
 * the record says what was lost.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/json.h"
#include "session/consent.h"
#include "session/inside.h"
#include "session/net/network_json.h"

#include <stdlib.h>
#include <string.h>

/* If the network was lost so recently before, it is not replaced at once. */
enum { AGAIN_NS = 1000000000 };

static bool is_in_step(const struct session *s)
{
	return s->step_state != STEP_NONE;
}

/* Answer the caller of session_set_rules(), if there is one. If the new rules could not be put in
 * force, those from before stay. */
static void tell_set(struct session *s, const struct err *err)
{
	session_rules_fn *set = take_ptr(s->net.set);
	if (!set)
		return;
	if (err) {
		free(s->net.rules);
		s->net.rules = take_ptr(s->net.before);
	}
	free(take_ptr(s->net.before));
	set(s->net.set_arg, err);
}

/* Put new rules in force, in the network of the box if it has one. */
static void apply_rules(struct session *s)
{
	s->net.is_set_due = false;
	if (s->net.network && s->net.err.code == ERR_NONE) {
		s->net.is_ready = false;
		const struct network_rights rights = {s->net.rules, s->net.secrets};
		network_set_rights(s->net.network, &rights);
		return;
	}
	if (s->net.network)
		network_close(take_ptr(s->net.network));
	networking_begin(s);
	if (!s->net.network) /* the next box gets the rules */
		tell_set(s, NULL);
}

static void on_ready(void *arg, const struct err *err)
{
	struct session *s = arg;
	bool is_kept = s->net.set && s->net.before && s->net.has_network;
	s->net.is_ready = true;
	s->net.has_network |= !err;
	consent_recheck(s);
	s->net.err = err && !is_kept ? *err : (struct err){0};
	if (s->net.is_set_due) {
		apply_rules(s);
		return;
	}
	tell_set(s, err);
	/* While the box is being made, step_proceed() is called anyway. */
	if (s->state == SESSION_OPEN && !s->net.is_opening)
		step_proceed(s);
}

static void on_ask(void *arg, const char *host, uint16_t port)
{
	consent_ask(arg, host, port);
}

static void on_row(void *arg, const struct gateway_row *row)
{
	struct session *s = arg;
	if (!s->listener || !s->listener->network || step_is_over(s->step_state))
		return;
	cleanup_json json_t *event = network_row_json(row);
	s->listener->network(s->listener->arg, event);
}

static void on_lost(void *arg, struct network *n, const struct err *err)
{
	struct session *s = arg;
	if (n == s->net.left) {
		network_close(take_ptr(s->net.left));
		return;
	}
	snprintf(s->net.lost, sizeof s->net.lost, "connections to the network were lost: %.150s",
		err->msg);
	network_close(take_ptr(s->net.network));
	consent_withdraw(s);
	/* A program may be running. But if gateways die all the time, wait for the next step. */
	uint64_t now_ns = uv_hrtime();
	bool is_rare = now_ns - s->net.lost_ns > AGAIN_NS;
	s->net.lost_ns = now_ns;
	if (is_rare && s->state == SESSION_OPEN)
		networking_begin(s);
}

void networking_begin(struct session *s)
{
	const struct network_events events = {
		.ready = on_ready, .ask = on_ask, .row = on_row, .lost = on_lost, .arg = s};
	if (!s->net.rules || s->net.rules->n == 0 || s->net.network || s->net.is_opening ||
		!session_box(s) || s->box->is_over)
		return;
	s->net.is_ready = s->net.has_network = false;
	const struct network_rights rights = {s->net.rules, s->net.secrets};
	s->net.is_opening = true;
	s->net.network = network_open(s->box, &rights, &events);
	s->net.is_opening = false;
}

int networking_await(struct session *s, struct err *err)
{
	networking_begin(s);
	if (!s->net.network)
		return 0;
	if (!s->net.is_ready)
		return 1;
	if (s->net.err.code == ERR_NONE)
		return 0;
	*err = s->net.err;
	/* The next step tries again. */
	network_close(take_ptr(s->net.network));
	return -err_errno(err->code);
}

bool networking_is_settled(struct session *s)
{
	networking_begin(s);
	return !s->net.network || (s->net.is_ready && s->net.err.code == ERR_NONE);
}

void networking_leave(struct session *s)
{
	struct network *n = take_ptr(s->net.network);
	if (!n)
		return;
	if (is_in_step(s) && !s->net.left && s->net.is_ready && s->net.err.code == ERR_NONE)
		s->net.left = n;
	else
		network_close(n);
	s->net.is_ready = s->net.is_set_due = false;
	consent_withdraw(s);
	if (s->state != SESSION_CLOSING)
		tell_set(s, NULL); /* the next box gets the rules */
}

/* ---- the record ---- */

static void on_report(
	void *arg, const struct gateway_row *rows, size_t n, uint64_t n_more, const struct err *err)
{
	struct session *s = arg;
	json_decref(s->record.network);
	s->record.network = n > 0 || n_more > 0 ? network_rows_json(rows, n, n_more) : NULL;
	if (err)
		snprintf(s->net.lost, sizeof s->net.lost,
			"the record lacks what it asked of the network: %.150s", err->msg);
	if (s->net.left)
		network_close(take_ptr(s->net.left));
	s->net.reported(s);
}

void networking_report(struct session *s, void (*done)(struct session *s))
{
	struct network *n = s->net.left ? s->net.left : s->net.network;
	s->net.reported = done;
	if (n)
		network_report(n, on_report, s);
	else
		done(s);
}

void networking_tell(struct session *s, char *out, size_t bytes)
{
	snprintf(out, bytes, "%s", s->net.lost);
	s->net.lost[0] = '\0';
}

/* ---- rules ---- */

void session_set_rules(
	struct session *s, const struct rules *rules, session_rules_fn *done, void *arg)
{
	struct err err;
	if (s->net.set) {
		err_fail(&err, ERR_BUSY, "ask again in a moment",
			"the session's network rules are being changed already");
		done(arg, &err);
		return;
	}
	s->net.before = s->net.rules;
	s->net.rules = xnew(struct rules);
	*s->net.rules = *rules;
	s->net.set = done;
	s->net.set_arg = arg;
	s->net.is_set_due = true;
	/* While the box is getting its network, on_ready() goes on. */
	if (!s->net.network || s->net.is_ready)
		apply_rules(s);
}

bool session_is_gateway(const struct session *s, const char *address, uint16_t port)
{
	return s->net.network && network_listens(s->net.network, s->net.rules, address, port);
}

void session_set_secrets(struct session *s, const struct secrets *values)
{
	for (size_t i = 0; s->net.secrets && values && i < values->n; i++) {
		const struct secret *given = &values->v[i];
		struct secret *known = secrets_find(s->net.secrets, given->name);
		if (known && given->value)
			secret_set_value(known, given->value);
	}
	if (!s->net.network || !s->net.secrets || !values)
		return;
	if (s->net.is_ready && !s->net.is_opening)
		apply_rules(s);
	else
		s->net.is_set_due = true;
}

bool session_trusts_gateway(const struct session *s)
{
	return s->order->net && rules_have_http(s->order->net);
}

const struct rules *session_rules(const struct session *s)
{
	return s->net.rules;
}

void networking_close(struct session *s)
{
	struct err err;
	err_set(&err, ERR_GONE, "the session was closed");
	if (s->net.network)
		network_close(take_ptr(s->net.network));
	if (s->net.left)
		network_close(take_ptr(s->net.left));
	tell_set(s, &err);
	free(take_ptr(s->net.rules));
	free(take_ptr(s->net.before));
	if (s->net.secrets)
		secrets_done(s->net.secrets);
	free(take_ptr(s->net.secrets));
}
