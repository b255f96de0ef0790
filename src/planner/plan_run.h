/* A plan with tools: read, checked, run, recorded. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan.h"
#include "planner/plan_record.h"

/*
 * Check and run with the tools of a fixture. Without a policy the annotations of the tools decide.
 * What the check refuses is not run. *report gets what is wrong, as text or with is_json as JSON.
 *
 * Returns: enum plan_status, or negative errno.
 */
int plan_run(const struct plan_request *req, struct buf *report, struct err *err);

/*
 * Run a record again, and compare every line. With policy_path another policy decides: *report says
 * what would have been different. Of @req: path of the record, policy_path, print, approve.
 */
int plan_replay(const struct plan_request *req, struct buf *report, struct err *err);
