/* The saved agents of this user, for --continue, --resume and --list. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/agent/agent_store.h"
#include "base/err.h"
#include "base/opt.h"

#include <limits.h>

struct agent_past {
	char dir[PATH_MAX];	  /* directory of all saved agents; "": agents cannot be saved */
	char state[PATH_MAX];	  /* directory of the journal with this agent's session */
	char directory[PATH_MAX]; /* the user's working directory */
	char id[AGENT_ID_BYTES];
	/* `is_resumed`: this is a saved agent, not a new one. `has_model`: the saved agent names
	 * its model. */
	bool is_resumed, has_model;
	struct err why; /* why agents cannot be saved */
};

/* Choose an id and a directory for a new agent. If agents cannot be saved, `dir` becomes "" and
 * `why` the reason; that is not an error. Errors: ERR_USAGE: a path is too long. */
int agent_past_new(struct agent_past *p, struct err *err);

/* Find the saved agent whose id begins with @id. If @id is NULL, find the agent that ran last in
 * the working directory. Errors: ERR_NOT_FOUND, after a list of agents was printed to stderr;
 * errors of the agent store. */
int agent_past_find(struct agent_past *p, const char *id, struct err *err);

/* Refuse options of the box for a resumed agent, because its box exists already. Errors:
 * ERR_USAGE. */
int agent_past_check(const struct opt_set *set, struct err *err);

/* Print the saved agents as a table, or as {"agents": […]} if @is_json. Returns: the exit
 * status, or negative errno. */
int agent_past_list(bool is_json, struct err *err);
