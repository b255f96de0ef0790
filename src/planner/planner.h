/* Runs a plan in a planner process: the engine's side. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "planner/plan_stop.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct plan_tools;

/* A plan to check or run, borrowed. Texts may be NULL, except plan and tools. */
struct planner_job {
	const char *plan, *policy, *request;
	const char *tools; /* text of a file of tools, which also declares the engine's tools */
	const char *tools_name;	  /* name of @tools in messages */
	struct plan_tools *calls; /* makes the calls; NULL: results are in @tools */
	const json_t *approve;	  /* array of tool names that need no question, or NULL */
	uint64_t fuel, memory_bytes;
	bool is_run;
	struct plan_stop *stop;
};

/*
 * Start a planner process, have it check or run the plan, make its calls, and end it.
 *
 * The process is not trusted. It may only call existing tools whose names occur in the plan, with a
 * JSON object of their parameters; of its result only the known fields are used. The process itself
 * decides whether the policy allows a call: see T-PLAN-PROCESS.
 *
 * Blocks:  until the plan has ended, or @stop is set, or the time limit is reached.
 * Returns: 0 and *result {"status": enum plan_status, …}, which the caller owns; negative errno.
 * Errors:  those of opening the tools and of the plan; ERR_GONE: the process has ended (names the
 *          signal); ERR_LIMIT: time limit; ERR_INTERRUPTED.
 */
int planner_perform(const struct planner_job *job, json_t **result, struct err *err);

/* Copy the known fields of a planner's result. Owns: the caller; NULL: malformed. */
json_t *planner_result(const json_t *said, bool is_run);
