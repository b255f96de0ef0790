/*
 * What a person has said about connections of a box.
 *
 * A rule "ask" lets a person decide about each name and port. The engine is asked when a program
 * first connects there, and the connection waits for the answer, as do all later ones to the same
 * place. Then the answer is for all of them, until the engine has the answers forgotten: it does so
 * at the end of each step. Names of which a rule decides are not asked about, and neither are
 * literal addresses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "gateway/process/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_needed(const struct net_box *b, const struct name *name, uint16_t port)
{
	const struct rule *rule = rules_for_port(&b->rules, name->host, port);
	return rule && rule->kind == RULE_ASK;
}

static struct consent *find(const struct net_box *b, const struct name *name, uint16_t port)
{
	for (size_t i = 0; i < b->n_consents; i++)
		if (b->consents[i].name == name && b->consents[i].port == port)
			return &b->consents[i];
	return NULL;
}

bool consent_is_given(const struct net_box *b, const struct name *name, uint16_t port)
{
	const struct consent *c = find(b, name, port);
	return !is_needed(b, name, port) || (c && c->state == CONSENT_GIVEN);
}

static void ask(struct net_box *b, const struct name *name, uint16_t port)
{
	json_t *message = frame_new("say", "ask", b->id);
	if (!b->consents)
		b->consents = xcalloc(GATEWAY_ASKED_MAX, sizeof *b->consents);
	b->consents[b->n_consents++] =
		(struct consent){.name = name, .port = port, .state = CONSENT_ASKED};
	frame_put_place(message, name->host, port);
	channel_send(b->service->channel, message, NULL, 0);
}

enum consent_state consent_need(struct net_box *b, const struct name *name, uint16_t port,
	char reason[GATEWAY_REASON_BYTES])
{
	const struct consent *c = find(b, name, port);
	if (!is_needed(b, name, port))
		return CONSENT_GIVEN;
	if (c) {
		snprintf(reason, GATEWAY_REASON_BYTES, "%s", c->reason);
		return c->state;
	}
	if (b->n_consents == GATEWAY_ASKED_MAX) {
		snprintf(reason, GATEWAY_REASON_BYTES, "its step has asked for %d places already",
			GATEWAY_ASKED_MAX);
		return CONSENT_REFUSED;
	}
	ask(b, name, port);
	return CONSENT_ASKED;
}

void consent_answer(struct net_box *b, const char *host, uint16_t port, const char *reason)
{
	const struct name *name = names_find(b->names, host);
	struct consent *c = name ? find(b, name, port) : NULL;
	if (!c || c->state != CONSENT_ASKED)
		return;
	c->state = reason ? CONSENT_REFUSED : CONSENT_GIVEN;
	snprintf(c->reason, sizeof c->reason, "%s", reason ? reason : "");
	connections_recheck(b);
}

void consents_forget(struct net_box *b)
{
	for (size_t i = 0; i < b->n_consents; i++) {
		struct consent *c = &b->consents[i];
		c->state = CONSENT_REFUSED;
		snprintf(c->reason, sizeof c->reason, "its step is over");
	}
	if (b->n_consents > 0)
		connections_recheck(b);
	b->n_consents = 0;
}
