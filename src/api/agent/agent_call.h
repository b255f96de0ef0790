/* One call of agent.run; for the files that implement it. SPDX-License-Identifier: Apache-2.0 */
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
	json_t *params; /* parameters of the call; if it resumes an agent, with saved defaults */
	struct wire *wire;
	struct loop *loop;
	char *session, *runtime;
	json_t *about; /* the description of the session when the call began */
	struct inputs inputs;
	struct agent_query query;
	struct gate_handler handler; /* answers llm_query of the session */
	struct waiter waiter;
	struct trials *trials; /* branches for candidates; NULL: one candidate for each step */
	bool is_own;	       /* the session was made for this call */
	bool is_running;       /* a step is running */
	bool is_unwanted;      /* the call was cancelled before the loop began */
	json_t *result;	       /* set when the loop has ended */
	struct err err;

	struct price price, query_price;
	bool has_price, has_query_price;

	struct stored_agent stored;
	bool is_kept;	/* the agent is saved after every turn */
	json_t *agent;	/* content of the agent's file; NULL: not saved */
	json_t *record; /* record of the step that ran when the agent was saved, or NULL */
	char was[AGENT_STATE_BYTES]; /* if the call resumes an agent: state of the session before */
	char remark[AGENT_REMARK_BYTES]; /* note to the model about the session, or "" */
};

/* ---- agent_call.c ---- */

/* Find the prices of the agent's models. Errors: ERR_USAGE: a limit on money without a price. */
int agent_find_prices(struct agent_call *a, struct err *err);
/* Read the budget from `params`, and note in @past which limits this call sets. */
void agent_take_budget(const struct agent_call *a, struct budget *out, struct loop_past *past);

/* ---- agent_saved.c: an agent on disk ---- */

/* Return the owner whose agents the caller may see. */
const char *agent_owner(const struct operation_call *call);

/*
 * Create a new agent in the store, or open the agent named by `resume`, with the parameters of its
 * first call as defaults: sets `params`, `agent`.
 * Errors: those of agent_store_open(), agent_store_read(); ERR_USAGE: neither task nor resume.
 */
int agent_saved_open(struct agent_call *a, struct err *err);
void agent_saved_close(struct agent_call *a);

/* Save the agent with the state of its loop; for loop_hooks.save. */
void agent_save(void *arg, const json_t *state);

/* Return the saved loop and session of an agent that resumes; NULL for a new agent. */
const json_t *agent_saved_loop(const struct agent_call *a);
const char *agent_saved_session(const struct agent_call *a);
/* Can the agent be resumed later, so that its session must be kept? */
bool agent_is_unfinished(const struct agent_call *a);

/* Note that the session is open again, or (NULL) lost and replaced by a new one: set `remark`, and
 * notify the user. */
void agent_session_resumed(struct agent_call *a, const json_t *session, const char *was);
