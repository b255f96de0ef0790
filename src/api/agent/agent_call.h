/* A call of agent.run from the inside: shared by the files that carry it out.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/loop/input.h"
#include "agent/loop/loop.h"
#include "api/agent/agent_query.h"
#include "api/agent/agent_store.h"
#include "api/agent/trials.h"
#include "api/operation/calls.h"

enum { AGENT_REMARK_BYTES = 400, AGENT_STATE_BYTES = 16 };

struct agent_call {
	struct operation_call *call;
	json_t *params; /* of the call, over those that it began with */
	struct wire *wire;
	struct loop *loop;
	char *session, *runtime;
	json_t *about; /* of the session, as it was at first */
	struct inputs inputs;
	struct agent_query query;
	struct gate_handler handler; /* of its session */
	struct waiter waiter;
	struct trials *trials; /* NULL: there is one candidate for each step */
	bool is_own;	       /* the session was made for this */
	bool is_running;       /* a step */
	bool is_unwanted;      /* before the loop began */
	json_t *result;	       /* once the loop is over */
	struct err err;

	struct price price, query_price;
	bool has_price, has_query_price;

	struct stored_agent stored;
	bool is_kept;			 /* there is a place for it */
	json_t *agent;			 /* what is kept of it; NULL: nothing */
	json_t *record;			 /* of the step that ran when it was kept, or NULL */
	char was[AGENT_STATE_BYTES];	 /* the state of the session of one that goes on */
	char remark[AGENT_REMARK_BYTES]; /* what became of the session; "" for nothing */
};

/* ---- agent_call.c ---- */

/* What its models cost. Errors: ERR_USAGE: a limit, and no price. */
int agent_find_prices(struct agent_call *a, struct err *err);
/* What is in `params`; @past is told what is given anew. */
void agent_take_budget(const struct agent_call *a, struct budget *out, struct loop_past *past);

/* ---- agent_saved.c: an agent on disk ---- */

/* Whose agents the caller sees. */
const char *agent_owner(const struct operation_call *call);

/*
 * Find a place for a new one, or open that of `resume` and take over what it began with: `params`,
 * `agent`.
 * Errors:  those of agent_store_open(), agent_store_read(); ERR_USAGE: neither task nor resume.
 */
int agent_saved_open(struct agent_call *a, struct err *err);
void agent_saved_close(struct agent_call *a);

/* loop_hooks.save. */
void agent_save(void *arg, const json_t *state);

/* What it was, when it goes on; NULL: it begins. */
const json_t *agent_saved_loop(const struct agent_call *a);
const char *agent_saved_session(const struct agent_call *a);
/* It can go on, and wants this session then. */
bool agent_is_unfinished(const struct agent_call *a);

/* The session is there again, or (NULL) another was made for it: what is to be said of that? */
void agent_session_resumed(struct agent_call *a, const json_t *session, const char *was);
