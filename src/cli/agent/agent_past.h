/* The saved agents of this user: `--continue`, `--resume`, `--list`. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/agent/agent_store.h"
#include "base/err.h"
#include "base/opt.h"

#include <limits.h>

struct agent_past {
	char dir[PATH_MAX];	  /* directory of all agents; "": agents cannot be saved */
	char state[PATH_MAX];	  /* directory of this agent's journal */
	char directory[PATH_MAX]; /* the user's working directory */
	char id[AGENT_ID_BYTES];
	bool is_resumed, has_model; /* has_model: the agent's model is known */
	struct err why;		    /* the reason why agents cannot be saved */
};

/* Choose an id and a directory for a new agent. If agents cannot be saved, `dir` is "", `why` has
 * the reason, and 0 is returned. Errors: ERR_INTERNAL. */
int agent_past_new(struct agent_past *p, struct err *err);

/* Find the agent whose id begins with @id, or (@id NULL) the agent that ran last in this directory.
 * Errors: ERR_NOT_FOUND, with a list of agents on stderr; those of agent_store_find(). */
int agent_past_find(struct agent_past *p, const char *id, struct err *err);

/* Refuse options of the box for a resumed agent, which already has its box. Errors: ERR_USAGE. */
int agent_past_check(const struct opt_set *set, struct err *err);

/* Print a table of the agents, or with @is_json {"agents": […]}. Returns: the exit status. */
int agent_past_list(bool is_json, struct err *err);
