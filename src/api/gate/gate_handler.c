/*
 * Handlers of a session's calls. A handler can ask a person to approve calls, and can answer calls
 * that are not for a tool, such as retort.llm_query.
 *
 * A handler is attached to one session or to all sessions. Examples are a run whose caller decides
 * about approvals, the agent loop, which answers `llm_query`, and the store of skills. gate_ask()
 * and gate_give() offer a call to the handlers of its session, the newest first, until one takes
 * it. When a handler is detached, the calls that it has taken fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/gate/inside.h"

#include "base/id.h"
#include "base/json.h"
#include "tool/approval.h"

#include <stdio.h>
#include <string.h>

enum { ID_BYTES = 2 + 26 + 1 };

const char *gate_call_name(const struct gate_call *call)
{
	return call->name;
}

const char *gate_call_session(const struct gate_call *call)
{
	return call->session;
}

const char *gate_call_owner(const struct gate_call *call)
{
	return call->owner;
}

const char *gate_call_approval(const struct gate_call *call)
{
	return call->id;
}

const json_t *gate_call_arguments(const struct gate_call *call)
{
	return call->arguments;
}

/* ---- asking handlers to approve a call ---- */

static bool is_of(const struct gate_handler *h, const struct gate_call *call)
{
	return call->session[0] && (!h->session[0] || strcmp(h->session, call->session) == 0);
}

bool gate_ask(struct gate_call *call)
{
	struct gate *g = call->gate;
	struct gate_handler *h = g->handlers;
	call->state = GATE_ASKING;
	call->was_tainted = gate_call_is_tainted(call);
	id_make(call->id, ID_BYTES, "a-");
	for (; h; h = h->next)
		if (is_of(h, call) && h->ask) {
			call->handler = h;
			if (h->ask(h->arg, call)) {
				gate_count_approval(g, GATE_ASKED);
				return true;
			}
		}
	call->handler = NULL;
	return false;
}

void gate_ask_connection(struct gate_call *call)
{
	if (call->is_trial)
		gate_fail(
			call, "ToolDenied", NULL, "nobody is asked for one of several candidates");
	else if (!gate_ask(call))
		gate_fail(call, "ToolDenied", NULL, CONNECT_NOBODY);
}

json_t *gate_connection_question(
	const char *approval, const char *session, const json_t *place, bool is_tainted)
{
	cleanup_buf struct buf text = BUF_INIT(APPROVAL_TEXT_BYTES);
	json_t *question = json_need(json_object());
	buf_addf(&text, "A program wants to connect to %s, port %d.\nAllow the connection?",
		json_get_text(place, "host"), (int)json_get_int(place, "port"));
	json_put_text(question, "approval", approval);
	json_put_text(question, "session", session);
	json_put_text(question, "tool", CONNECT_NAME);
	json_put_text(question, "text", buf_str(&text));
	json_put_bool(question, "destructive", false);
	json_put_bool(question, "tainted", is_tainted);
	json_put_shared(question, "connection", place);
	return question;
}

json_t *gate_question(const struct gate_call *call)
{
	if (call->is_connection)
		return gate_connection_question(
			call->id, call->session, call->arguments, call->was_tainted);
	cleanup_buf struct buf text = BUF_INIT(APPROVAL_TEXT_BYTES);
	const struct gate *g = call->gate;
	const struct catalog_tool *t = g->catalog ? catalog_find(g->catalog, call->name) : NULL;
	if (t)
		approval_ask(&text, t, call->arguments, call->was_tainted);
	return json_pack("{s:s, s:s, s:s, s:s%, s:b, s:b}", "approval", call->id, "session",
		call->session, "tool", t ? t->name : call->name, "text", buf_str(&text), text.bytes,
		"destructive", !t || t->is_destructive, "tainted", call->was_tainted);
}

struct gate_call *gate_asking(struct gate *g, const char *approval)
{
	for (struct gate_call *call = g->calls; call; call = call->next)
		if (call->state == GATE_ASKING && strcmp(call->id, approval) == 0)
			return call;
	return NULL;
}

bool gate_call_is_connection(const struct gate_call *call)
{
	return call->is_connection;
}

void gate_approve(struct gate_call *call, enum gate_decision decision)
{
	bool is_allowed = decision != GATE_REFUSE;
	gate_count_approval(call->gate, is_allowed ? GATE_ALLOWED : GATE_REFUSED);
	if (!gate_leave(call, is_allowed))
		return;
	if (!is_allowed && call->is_connection) {
		gate_fail(call, "ToolDenied", NULL, CONNECT_NO);
		return;
	}
	if (!is_allowed) {
		gate_fail(call, "ToolDenied", NULL, "%.100s: the call was not allowed", call->name);
		return;
	}
	if (call->is_connection) {
		gate_answer(call,
			json_pack("{s:s}", "value",
				decision == GATE_ALLOW ? CONNECT_ONCE : CONNECT_SESSION));
		return;
	}
	/* The session was tainted after the question was asked. The person who answered did not
	 * know that, so decide again. */
	if (gate_call_is_tainted(call) && !call->was_tainted) {
		gate_decide(call);
		return;
	}
	const struct catalog_tool *t = gate_find_tool(call);
	if (t)
		gate_perform(call, t);
}

/* ---- attaching handlers, and giving them calls to answer ---- */

void gate_attach(struct gate *g, const char *session, struct gate_handler *h)
{
	h->gate = g;
	snprintf(h->session, sizeof h->session, "%s", session);
	h->next = g->handlers;
	h->link = &g->handlers;
	if (h->next)
		h->next->link = &h->next;
	g->handlers = h;
}

static struct gate_call *call_of(const struct gate_handler *h)
{
	struct gate_call *call = h->gate->calls;
	while (call && call->handler != h)
		call = call->next;
	return call;
}

void gate_detach(struct gate_handler *h)
{
	struct gate_call *call;
	if (!h->gate)
		return;
	*h->link = h->next;
	if (h->next)
		h->next->link = h->link;
	while ((call = call_of(h))) {
		call->handler = NULL;
		if (call->is_connection)
			gate_fail(call, "ToolDenied", NULL, CONNECT_NOBODY);
		else if (call->state == GATE_ASKING)
			gate_fail(call, "ToolDenied", NULL,
				"%.100s: nobody is here any more to allow the call", call->name);
		else
			gate_fail(call, "ToolLost", NULL,
				"%.100s: nobody is here any more to answer it", call->name);
	}
	h->gate = NULL;
}

bool gate_give(struct gate_call *call)
{
	call->state = GATE_HANDLED;
	for (struct gate_handler *h = call->gate->handlers; h; h = h->next)
		if (is_of(h, call) && h->call) {
			call->handler = h;
			if (h->call(h->arg, call))
				return true;
		}
	call->handler = NULL;
	return false;
}
