/*
 * Questions whether programs may connect to a place, about which a rule "ask" says that a person
 * decides.
 *
 * The gateway asks about each name and port once (gateway/process/consent.c), and the connection
 * waits. The question goes the way of tool calls, as a call of CONNECT_NAME: to the gate, which
 * asks whoever has started the step. While a question waits, the wall clock of the step is paused.
 * Unlike tool calls, questions are not in the step's log: the record has their outcome among what
 * programs asked of the network.
 *
 * An answer is for the running step, and the gateway forgets it when the step ends. If it is for
 * the session, the owner of the session also gets `widen`, to add a rule. Between steps, and when a
 * step runs again, nobody is asked, and the connection is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/json.h"
#include "session/consent.h"
#include "session/inside.h"
#include "session/tool_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct question {
	struct tool_call call;
	struct question *next;
	struct session *session;
	json_t *arguments;
	bool is_held; /* it pauses the wall clock */
	uint16_t port;
	char host[RULE_HOST_BYTES];
};

static const char changed[] = "the rules have changed";

static void answer_gateway(
	const struct session *s, const char *host, uint16_t port, const char *reason)
{
	if (s->net.network)
		network_answer(s->net.network, host, port, reason);
}

static const struct rule *rule_of(const struct session *s, const char *host, uint16_t port)
{
	return s->net.rules ? rules_for_port(s->net.rules, host, port) : NULL;
}

static bool is_asked(const struct session *s, const char *host, uint16_t port)
{
	const struct rule *rule = rule_of(s, host, port);
	return rule && rule->kind == RULE_ASK;
}

static void hold(struct question *q)
{
	struct session *s = q->session;
	q->is_held = true;
	if (s->calls.n_held++ == 0)
		step_pause(s);
}

/* Remove @q, and let the wall clock go on if nothing else waits. */
static void drop(struct question *q)
{
	struct session *s = q->session;
	struct question **at = &s->net.questions;
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	if (q->is_held && --s->calls.n_held == 0)
		step_resume(s);
	json_decref(q->arguments);
	free(q);
}

static void on_answered(struct tool_call *call, const json_t *answer)
{
	struct question q = *container_of(call, struct question, call);
	struct session *s = q.session;
	const char *word = json_get_text(answer, "value");
	const struct rule *rule = rule_of(s, q.host, q.port);
	bool is_for_session = strcmp(word, CONNECT_SESSION) == 0;
	char text[RULE_TEXT_BYTES];
	drop(container_of(call, struct question, call));
	if (!is_for_session && strcmp(word, CONNECT_ONCE) != 0) {
		answer_gateway(s, q.host, q.port,
			json_get_text(json_object_get(answer, "error"), "message"));
		return;
	}
	answer_gateway(s, q.host, q.port, NULL);
	if (!is_for_session || !s->events.widen || !rule)
		return;
	snprintf(text, sizeof text, "%s%s:%u", rule->may_be_private ? "!" : "", q.host, q.port);
	s->events.widen(s->events.arg, text);
}

/* Return why nobody is asked, or NULL. */
static const char *why_not(const struct session *s, const char *host, uint16_t port)
{
	if (!is_asked(s, host, port))
		return changed;
	if (s->step_state != STEP_RUNNING)
		return "nobody is asked between steps";
	if (s->step->is_again)
		return "nobody is asked when a step runs again";
	return s->events.call ? NULL : CONNECT_NOBODY;
}

void consent_ask(struct session *s, const char *host, uint16_t port)
{
	const char *reason = why_not(s, host, port);
	s->net.has_asked = true;
	if (reason) {
		answer_gateway(s, host, port, reason);
		return;
	}
	struct question *q = xnew(struct question);
	*q = (struct question){.session = s, .port = port, .next = s->net.questions};
	snprintf(q->host, sizeof q->host, "%s", host);
	q->arguments = json_need(json_object());
	json_put_text(q->arguments, "host", host);
	json_put_int(q->arguments, "port", port);
	q->call = (struct tool_call){.session = s->id,
		.owner = "",
		.name = CONNECT_NAME,
		.arguments = q->arguments,
		.answered = on_answered};
	s->net.questions = q;
	/* A program can connect before the engine knows that it runs. */
	if (s->began_ns)
		hold(q);
	s->events.call(s->events.arg, &q->call);
}

void consent_begin(struct session *s)
{
	for (struct question *q = s->net.questions; q; q = q->next)
		if (!q->is_held && s->step_state == STEP_RUNNING)
			hold(q);
}

static void withdraw(struct question *q)
{
	const struct session *s = q->session;
	if (s->events.cancel)
		s->events.cancel(s->events.arg, &q->call);
	drop(q);
}

void consent_withdraw(struct session *s)
{
	while (s->net.questions)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is withdrawn leaves the list */
		withdraw(s->net.questions);
}

static struct question *find_needless(const struct session *s)
{
	struct question *q = s->net.questions;
	while (q && is_asked(s, q->host, q->port))
		q = q->next;
	return q;
}

void consent_recheck(struct session *s)
{
	struct question *q;
	/* Each callback may change the list. */
	while ((q = find_needless(s))) {
		answer_gateway(s, q->host, q->port, changed);
		withdraw(q);
	}
}

void consent_forget(struct session *s)
{
	consent_withdraw(s);
	if (s->net.has_asked && s->net.network)
		network_forget(s->net.network);
	s->net.has_asked = false;
}
