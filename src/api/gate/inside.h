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
 *   LOADING   the server's list of tools is not known yet
 *   ASKING    a handler asks somebody whether the call is allowed
 *   CALLING   the server has the call
 *   HANDLED   a handler has the call
 *   OVER      the call was answered or cancelled, but is still referenced
 */
enum gate_state { GATE_LOADING, GATE_ASKING, GATE_CALLING, GATE_HANDLED, GATE_OVER };

struct gate_call {
	struct gate_call *next, **link;
	struct gate *gate;
	enum gate_state state;
	unsigned n_holds; /* references of functions on the stack */
	bool is_loading;  /* the catalog will call on_loaded() */
	char session[GATE_SESSION_BYTES], owner[GATE_OWNER_BYTES], name[TOOL_NAME_MAX + 1];
	json_t *arguments;
	const bool *is_tainted;
	bool is_approved, is_trial, is_untrusted;
	bool was_tainted; /* was the session tainted when the question was asked? */
	void *arg;
	void (*answer)(void *arg, json_t *answer, bool is_untrusted);
	const struct gate_own *own;   /* row of a name that the gate answers */
	struct gate_handler *handler; /* in ASKING, HANDLED */
	struct catalog_call *call;    /* in CALLING */
	char id[GATE_ID_BYTES];	      /* id of the question, in ASKING */
	uint64_t began_ns;
};

/* The call rate of a session. */
struct gate_session {
	struct gate_session *next;
	char id[GATE_SESSION_BYTES];
	struct rate rate;
};

struct gate {
	struct gate_config config;
	struct tool_servers servers;
	struct rate *rates; /* call rate of each server */
	struct catalog *catalog;
	struct gate_call *calls;
	struct gate_handler *handlers; /* newest first */
	struct gate_session *sessions;
	uint64_t (*n_ends)[GATE_ENDS]; /* for each server, and one row for all other calls */
	uint64_t n_approvals[GATE_APPROVALS];
	uv_timer_t timer; /* timeout of lists of tools */
	bool is_closing;
};

/* Answer the call with an error. */
attr_printf(4, 5) void gate_fail(
	struct gate_call *call, const char *name, const char *hint, const char *fmt, ...);

/* Detach the call from its handler, which is notified. Returns: false if the handler has cancelled
 * the call meanwhile, so that it is over. */
bool gate_leave(struct gate_call *call, bool is_allowed);
/* Look up the tool and check the arguments. Returns: the tool; NULL: the call was answered with an
 * error. */
const struct catalog_tool *gate_find_tool(struct gate_call *call);
/* Decide whether the call is allowed; make the call. The call may be over when these return. */
void gate_decide(struct gate_call *call);
void gate_perform(struct gate_call *call, const struct catalog_tool *t);

/* gate_handler.c */
/* Offer the call to handlers, to ask about it or to answer it. Returns: false when every handler
 * refuses it. */
bool gate_ask(struct gate_call *call);
bool gate_give(struct gate_call *call);
