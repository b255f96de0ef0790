/* A plan in a process of its own: the engine's side. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "planner/plan_stop.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct plan_tools;

/* Everything is borrowed; texts may be NULL but for plan and tools. */
struct planner_job {
	const char *plan, *policy, *request;
	const char *tools;	  /* text; of what the engine has, with the names that it knows */
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
 * The planner is not believed. What it has called has to be a tool that is there and whose name
 * stands in the plan, with a JSON object of its parameters; of a result it gets no more than the
 * fields that the operation has. Whether the policy allows a call is decided in the planner: see
 * T-PLAN-PROCESS.
 *
 * Blocks:  until the plan has ended, or @stop is set, or the planner says nothing for too long.
 * Returns: 0 and *result {"status": enum plan_status, …}, which the caller owns; negative errno.
 * Errors:  what opening the tools and the plan may end with; ERR_GONE: the process ended, with the
 *          signal; ERR_LIMIT: it took too long; ERR_INTERRUPTED.
 */
int planner_perform(const struct planner_job *job, json_t **result, struct err *err);

/* The fields that a result may have of what a planner said; the rest is dropped. Owns: the caller;
 * NULL: it is no result. */
json_t *planner_result(const json_t *said, bool is_run);
