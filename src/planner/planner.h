/* A plan in a process of its own, the engine's side. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "planner/plan_stop.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct plan_tools;

/* Everything is borrowed. Texts may be NULL, except plan and tools. */
struct planner_job {
	const char *plan, *policy, *request;
	const char *tools; /* the text of a file of tools, which declares the engine's tools too */
	const char *tools_name;	  /* for messages */
	struct plan_tools *calls; /* who makes calls; NULL: the text answers */
	const json_t *approve;	  /* names of tools; NULL: none */
	uint64_t fuel, memory_bytes;
	bool is_run;
	struct plan_stop *stop;
};

/*
 * Start a planner, have it check or run the plan, make its calls, and end it.
 *
 * The planner is not trusted. It may only call existing tools whose names occur in the plan, with a
 * JSON object of their parameters; of its result only the fields of the operation are kept. Whether
 * the policy allows a call is decided in the planner: see T-PLAN-PROCESS.
 *
 * Blocks:  until the plan has ended, or @stop is set, or the planner is silent for too long.
 * Returns: 0 and *result {"status": enum plan_status, …}, which the caller owns; negative errno.
 * Errors:  what opening the tools and the plan may end with; ERR_GONE: the process ended, with the
 *          signal; ERR_LIMIT: it took too long; ERR_INTERRUPTED.
 */
int planner_perform(const struct planner_job *job, json_t **result, struct err *err);

/* Reduce a planner's message to the fields of a result. Owns: the caller; NULL: malformed. */
json_t *planner_result(const json_t *said, bool is_run);
