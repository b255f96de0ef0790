/* The operations behind `retort plan check`, `test` and `explain`: a plan against a policy.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan.h"

/*
 * Check a plan: with tools every flow of it, without them only that it can be read and its names
 * exist. *report gets what is found.
 *
 * Owns:    the caller ends *report with buf_done().
 * Returns: PLAN_OK; PLAN_DENIED: the policy denies a call; PLAN_INVALID: the plan or the policy is
 *          malformed, or the plan cannot be checked; or negative errno.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT, ERR_IO, ERR_USAGE, ERR_NO_MEMORY.
 */
int plan_check(const struct plan_request *req, struct buf *report, struct err *err);

/* A policy with every tool of req->tools_path, in which what is to be decided has a question mark.
 * Returns: PLAN_OK, negative errno; as plan_check(). */
int plan_skeleton(const struct plan_request *req, struct buf *out, struct err *err);

/* Can @text be read as a policy at all? Which tools it may name is not known yet. Errors:
 * ERR_USAGE, with the first place. */
int plan_policy_check(const char *name, const struct buf *text, struct err *err);

/* Run the tests of the policy at req->policy_path; PLAN_FAILED when one fails. The plan is not
 * looked at. */
int plan_test(const struct plan_request *req, struct buf *report, struct err *err);
