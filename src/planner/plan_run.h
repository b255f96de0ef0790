/* Runs a plan with tools: reads, checks, runs and records it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan.h"
#include "planner/plan_record.h"

/*
 * Check a plan and run it, if the check allows. Without a policy the annotations of the tools
 * decide. *report gets the diagnostics, as text or with is_json as JSON.
 *
 * Returns: enum plan_status, or negative errno.
 */
int plan_run(const struct plan_request *req, struct buf *report, struct err *err);

/*
 * Run the plan of a record again and compare every line; no call is made. With policy_path another
 * policy decides, and *report tells whether lines would differ. Used of @req: path of the record,
 * policy_path, print, approve.
 */
int plan_replay(const struct plan_request *req, struct buf *report, struct err *err);
