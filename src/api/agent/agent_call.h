/* The data of one call of agent.run, shared by the files that implement it.
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
	/* The parameters of this call of agent.run. If this call resumes a saved agent,
	 * agent_saved_open() adds the parameters of the agent's first call. If both calls have a
	 * parameter, the value of this call is used. */
	json_t *params;
	struct wire *wire;
	struct loop *loop;
	char *session, *runtime;
	json_t *about; /* description of the session at the beginning of this call */
	struct inputs inputs;
	struct agent_query query;
	struct gate_handler handler; /* answers `retort.llm_query` for code of the session */
	struct waiter waiter;
	struct trials *trials; /* branches in which candidates run; NULL: no candidates */
	bool is_own;	       /* the session was made for the agent */
	bool is_running;       /* a step is running in the session itself, not in a branch */
	bool is_unwanted;      /* the call was cancelled before the loop began */
	json_t *result;	       /* result of the loop; NULL until the loop has ended */
	struct err err;

	struct price price, query_price;
	bool has_price, has_query_price;

	struct stored_agent stored;
	bool is_kept;	/* the agent is saved; false after a failure to save it */
	json_t *agent;	/* content of agent.json; NULL: the agent is not saved */
	json_t *record; /* record of a step that ended after the agent was last saved, or NULL */
	/* State of a resumed session before this call, such as "stored" or "idle". "" if no
	 * session is resumed. */
	char was[AGENT_STATE_BYTES];
	char remark[AGENT_REMARK_BYTES]; /* note for the model about a resumed session, or "" */
};

/* ---- agent_call.c: prices and budget ---- */

/* Find the prices of the agent's models. Errors: ERR_USAGE: the call limits the cost, but a
 * price is unknown. */
int agent_find_prices(struct agent_call *a, struct err *err);
/* Read the budget from `params`. Set past->is_given for each limit that is a parameter of this
 * call itself. The other limits come from the saved agent, or are defaults. */
void agent_take_budget(const struct agent_call *a, struct budget *out, struct loop_past *past);

/* ---- agent_saved.c: an agent on disk ---- */

/* Return the owner whose agents the caller may see: the name of its principal, or "". */
const char *agent_owner(const struct operation_call *call);

/*
 * If the parameter `resume` names a saved agent, open that agent, and add the parameters of its
 * first call to `params`. Otherwise create a new agent, if there is a store. Set `agent`, `stored`
 * and `is_kept`.
 * Errors: those of agent_store_find(), agent_store_open(), agent_store_create() and
 * agent_store_read(); ERR_USAGE: the call has neither `task` nor `resume`, or it has both `resume`
 * and `session`.
 */
int agent_saved_open(struct agent_call *a, struct err *err);
void agent_saved_close(struct agent_call *a);

/* Save the agent with @state, the state of its loop. This is loop_hooks.save. */
void agent_save(void *arg, const json_t *state);

/* agent_saved_loop() returns the saved state of the loop, agent_saved_session() the id of the
 * saved session. Both return NULL for a new agent. */
const json_t *agent_saved_loop(const struct agent_call *a);
const char *agent_saved_session(const struct agent_call *a);
/* Return whether the agent can be resumed later; its session must then be kept. */
bool agent_is_unfinished(const struct agent_call *a);

/*
 * Called when a resumed agent has a session again. Set `remark` and `record`, and send the event
 * agent.resumed.
 * @session: the agent's own session; NULL if it is gone, and a new one replaces it.
 * @was: the state of the session before this call.
 */
void agent_session_resumed(struct agent_call *a, const json_t *session, const char *was);
