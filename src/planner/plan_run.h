/* Run a plan with tools: read, check, run and record it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan.h"
#include "planner/plan_record.h"

/*
 * Check a plan, and run it if the check allows. Without a policy, the annotations of the tools
 * decide. *report gets the diagnostics, as text or with is_json as JSON.
 *
 * Returns: enum plan_status, or negative errno.
 */
int plan_run(const struct plan_request *req, struct buf *report, struct err *err);

/*
 * Run the plan of the record @req->path again, without making any call: the recorded outcomes
 * replace the calls. Compare each line that the run would record with the line in the record. The
 * plan, its tools, its request and its limits come from the record.
 * - If policy_path is NULL, the policy also comes from the record, and a line that differs is an
 *   error.
 * - Otherwise the policy in the file policy_path decides, and *report tells whether any line
 *   differs.
 */
int plan_replay(const struct plan_request *req, struct buf *report, struct err *err);
