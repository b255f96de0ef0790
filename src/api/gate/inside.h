/* The gate from the inside: shared by gate.c, gate_handler.c and gate_own.c, seen by no other.
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
 *   LOADING   what its server has is not known yet
 *   ASKING    a handler has somebody asked whether it may be called
 *   CALLING   its server has it
 *   HANDLED   a handler has it
 *   OVER      it has been answered, or given up, and something holds on to its memory
 */
enum gate_state { GATE_LOADING, GATE_ASKING, GATE_CALLING, GATE_HANDLED, GATE_OVER };

struct gate_call {
	struct gate_call *next, **link;
	struct gate *gate;
	enum gate_state state;
	unsigned n_holds; /* while somebody further up the stack uses it */
	bool is_loading;  /* the catalog does */
	char session[GATE_SESSION_BYTES], owner[GATE_OWNER_BYTES], name[TOOL_NAME_MAX + 1];
	json_t *arguments;
	const bool *is_tainted;
	bool is_approved, is_trial, is_untrusted;
	bool was_tainted; /* when it was asked about */
	void *arg;
	void (*answer)(void *arg, json_t *answer, bool is_untrusted);
	const struct gate_own *own;   /* of "retort.…" that the gate answers */
	struct gate_handler *handler; /* ASKING, HANDLED */
	struct catalog_call *call;    /* CALLING */
	char id[GATE_ID_BYTES];	      /* ASKING */
	uint64_t began_ns;
};

/* What is remembered of a session. */
struct gate_session {
	struct gate_session *next;
	char id[GATE_SESSION_BYTES];
	struct rate rate;
};

struct gate {
	struct gate_config config;
	struct tool_servers servers;
	struct rate *rates; /* of each server */
	struct catalog *catalog;
	struct gate_call *calls;
	struct gate_handler *handlers; /* the newest first */
	struct gate_session *sessions;
	uint64_t (*n_ends)[GATE_ENDS]; /* of each server, and of what is retort's own */
	uint64_t n_approvals[GATE_APPROVALS];
	uv_timer_t timer; /* for lists that are waited for */
	bool is_closing;
};

/* Refuse it. */
attr_printf(4, 5) void gate_fail(
	struct gate_call *call, const char *name, const char *hint, const char *fmt, ...);

/* Take the call from its handler, which is told. Returns: false if the call is over, because the
 * handler has given it up. */
bool gate_leave(struct gate_call *call, bool is_allowed);
/* Look up the tool and check the arguments. Returns: the tool; NULL: the call was answered with an
 * error. */
const struct catalog_tool *gate_find_tool(struct gate_call *call);
/* Decide whether the call may be made; make the call. It may be over when these return. */
void gate_decide(struct gate_call *call);
void gate_perform(struct gate_call *call, const struct catalog_tool *t);

/* gate_handler.c */
/* Offer the call to handlers: to ask about it, or to answer it. Returns: false when no handler
 * takes it. */
bool gate_ask(struct gate_call *call);
bool gate_give(struct gate_call *call);
