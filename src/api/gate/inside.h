/* Internal declarations of the gate, for gate.c, gate_handler.c and gate_own.c.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate.h"
#include "api/gate/gate_count.h"
#include "api/gate/gate_own.h"
#include "base/attr.h"
#include "base/rate.h"
#include "tool/catalog.h"

enum { GATE_OWNER_BYTES = 64 };

/*
 * The states of a call:
 *
 * LOADING   the gate waits for the server's list of tools
 * ASKING    a handler asks somebody whether the call is allowed
 * CALLING   the server has the call
 * HANDLED   a handler has taken the call and will answer it
 * OVER      the call was answered or cancelled, but functions still use it
 */
enum gate_state { GATE_LOADING, GATE_ASKING, GATE_CALLING, GATE_HANDLED, GATE_OVER };

struct gate_call {
	struct gate_call *next, **link;
	struct gate *gate;
	enum gate_state state;
	unsigned n_holds; /* number of functions on the stack that still use the call */
	bool is_loading;  /* the catalog has yet to call on_loaded() */
	char session[GATE_SESSION_BYTES], owner[GATE_OWNER_BYTES], name[TOOL_NAME_MAX + 1];
	json_t *arguments;
	const bool *is_tainted;
	bool is_approved, is_trial, is_untrusted, is_connection;
	/* Whether the session was tainted when a handler was asked to approve the call. */
	bool was_tainted;
	void *arg;
	void (*answer)(void *arg, json_t *answer, bool is_untrusted);
	/* Row of gate_own.c, if the gate answers the call itself; or NULL. */
	const struct gate_own *own;
	struct gate_handler *handler; /* set in the states ASKING and HANDLED */
	struct catalog_call *call;    /* set in the state CALLING */
	char id[GATE_ID_BYTES]; /* id under which somebody was asked to approve the call, or "" */
	uint64_t began_ns;
};

/* The rate of calls of a session. */
struct gate_session {
	struct gate_session *next;
	char id[GATE_SESSION_BYTES];
	struct rate rate;
};

struct gate {
	struct gate_config config;
	struct tool_servers servers;
	struct rate *rates; /* rate of calls of each server */
	struct catalog *catalog;
	struct gate_call *calls;
	struct gate_handler *handlers; /* newest first */
	struct gate_session *sessions;
	/* n_ends[i][k]: number of calls of the server i that ended with the word gate_ends[k]. The
	 * last row, after those of all servers, counts the calls that belong to no server. */
	uint64_t (*n_ends)[GATE_ENDS];
	uint64_t n_approvals[GATE_APPROVALS];
	uv_timer_t timer; /* limits how long calls wait for servers' lists of tools */
	bool is_closing;
};

/* Answer the call with an error. @name: the error's name, such as "ToolDenied". */
attr_printf(4, 5) void gate_fail(
	struct gate_call *call, const char *name, const char *hint, const char *fmt, ...);

/* Detach the call from its handler. If the handler was asked for an approval, tell the handler
 * the decision. Returns: false if the handler has cancelled the call at that moment, so that the
 * call is over. */
bool gate_leave(struct gate_call *call, bool is_allowed);
/* Find the tool of a call, and check the arguments. Returns: the tool; NULL if the call was
 * answered with an error. */
const struct catalog_tool *gate_find_tool(struct gate_call *call);
/* gate_decide() decides about a call: it makes the call, asks for an approval, or refuses the
 * call. gate_perform() makes the call. Both functions may end the call and free it. */
void gate_decide(struct gate_call *call);
void gate_perform(struct gate_call *call, const struct catalog_tool *t);

/* gate_handler.c */
/* Offer a call to the handlers of its session. gate_ask() offers it to those that can ask for an
 * approval, gate_give() to those that can answer it. Returns: false if no handler takes the
 * call. */
bool gate_ask(struct gate_call *call);
/* Ask whether programs may connect to a host. If nobody can be asked, the call fails. */
void gate_ask_connection(struct gate_call *call);
bool gate_give(struct gate_call *call);
