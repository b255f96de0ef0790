/* The gate from the inside: shared by gate.c and gate_own.c, seen by no other.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate.h"
#include "base/attr.h"
#include "tool/catalog.h"
#include "tool/rate.h"

enum { GATE_OWNER_BYTES = 64 };

/*
 *   LOADING   what its server has is not known yet
 *   ASKING    a handler has somebody asked whether it may be called
 *   CALLING   its server has it
 *   HANDLED   a handler has it
 *   OVER      it has been answered, or given up, and something holds on to its memory
 */
enum gate_state { GATE_LOADING, GATE_ASKING, GATE_CALLING, GATE_HANDLED, GATE_OVER };

struct gate_own;

struct gate_call {
	struct gate_call *next, **link;
	struct gate *gate;
	enum gate_state state;
	unsigned n_holds;  /* while somebody further up the stack uses it */
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
	uv_timer_t timer; /* for lists that are waited for */
	bool is_closing;
};

/* What code in a box is told of a server by this name would be "retort.…", which is ours. */
bool gate_is_shown(const struct catalog_server *s);

/* Refuse it. */
attr_printf(4, 5) void gate_fail(
	struct gate_call *call, const char *name, const char *hint, const char *fmt, ...);

/* gate_own.c: a call that the gate answers itself, when it is known what servers have. */
struct gate_own {
	const char *name;
	/* Returns: the value; NULL: @err, or no memory. */
	json_t *(*answer)(const struct gate *g, const json_t *arguments, struct err *err);
};
/* Returns: NULL when there is none of that name. */
const struct gate_own *gate_own_find(const char *name);
