/* Agents of this user that can go on: `--continue`, `--resume`, `--list`. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "api/agent/agent_store.h"
#include "base/err.h"
#include "base/opt.h"

#include <limits.h>

struct agent_past {
	char dir[PATH_MAX];	  /* of all agents; "": none is kept */
	char state[PATH_MAX];	  /* of the journal of this one */
	char directory[PATH_MAX]; /* that this process runs in */
	char id[AGENT_ID_BYTES];
	bool is_resumed, has_model; /* it is known with which model */
	struct err why;		    /* none is kept: why */
};

/*
 * A place for a new one. Where there is none, `dir` is "", `why` says why, and 0 is returned.
 * Errors: ERR_INTERNAL.
 */
int agent_past_new(struct agent_past *p, struct err *err);

/*
 * The one with the id @id, or a start of it; NULL: the last that was run in this directory.
 * Errors: ERR_NOT_FOUND, with what there is on stderr; those of agent_store_find().
 */
int agent_past_find(struct agent_past *p, const char *id, struct err *err);

/* Options of the box: that of an agent that goes on is there. Errors: ERR_USAGE: there are some. */
int agent_past_check(const struct opt_set *set, struct err *err);

/* A table, or with @is_json {"agents": […]}, on stdout. Returns: the exit status. */
int agent_past_list(bool is_json, struct err *err);
