/* Check plans, and test policies: the operations behind `retort plan check`, `test`, `explain` and
 * `policy`. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan.h"

/*
 * Check a plan: with tools, check every flow; without tools, check only syntax and names. *report
 * gets the findings.
 *
 * Owns:    the caller frees *report with buf_done().
 * Returns: PLAN_OK; PLAN_DENIED: the policy denies a call; PLAN_INVALID: the plan or the policy is
 * malformed, or the plan cannot be checked; or negative errno.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT, ERR_IO, ERR_USAGE, ERR_NO_MEMORY.
 */
int plan_check(const struct plan_request *req, struct buf *report, struct err *err);

/* Write a policy to be filled in. It has a rule for every tool of req->tools_path, and a
 * question mark wherever the user has to decide. Returns: PLAN_OK, negative errno. Errors: as
 * plan_check(). */
int plan_skeleton(const struct plan_request *req, struct buf *out, struct err *err);

/* Check only the syntax of a policy, because its tools are not known yet. Errors: ERR_USAGE for the
 * first syntax error. */
int plan_policy_check(const char *name, const struct buf *text, struct err *err);

/* Run the tests in the policy at req->policy_path. The plan is not used. Returns: PLAN_OK;
 * PLAN_FAILED if a test failed; PLAN_INVALID; negative errno. */
int plan_test(const struct plan_request *req, struct buf *report, struct err *err);
