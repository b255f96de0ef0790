/* Run a plan in a planner process: the engine's side. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "planner/plan_stop.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct plan_tools;

/* A plan to check or run. All members are borrowed. All texts but `plan` and `tools` may be
 * NULL. */
struct planner_job {
	const char *plan, *policy, *request;
	const char *tools; /* content of a file of tools, which declares all tools of the plan */
	const char *tools_name;	  /* name of `tools` in messages */
	struct plan_tools *calls; /* makes the calls; NULL if `tools` has prepared answers */
	const json_t *approve;	  /* array of names of tools that need no approval, or NULL */
	uint64_t fuel, memory_bytes;
	bool is_run;
	struct plan_stop *stop;
};

/*
 * Start a planner process, let it check or run the plan, make its calls, and end it.
 *
 * The process is not trusted. It may only call existing tools whose names occur in the plan, with a
 * JSON object of their parameters. Only the known fields of its result are used. However, the
 * process itself decides whether the policy allows a call: see T-PLAN-PROCESS in SECURITY.md.
 *
 * Blocks:  until the plan has ended, or @stop is set, or the time limit is reached.
 * Returns: 0 and *result {"status": enum plan_status, …}, which the caller owns; negative errno.
 * Errors:  those of the tools and of the plan; ERR_GONE with the signal if the process has ended;
 *          ERR_LIMIT if its time is used up; ERR_INTERRUPTED.
 */
int planner_perform(const struct planner_job *job, json_t **result, struct err *err);

/* Copy only the known fields of the result @said that a planner process sent. Returns: the copy, or
 * NULL if the result is malformed. Owns: the caller releases the copy. */
json_t *planner_result(const json_t *said, bool is_run);
