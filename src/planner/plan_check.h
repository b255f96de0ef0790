/* The operations behind `retort plan check`, `test` and `explain`: a plan against a policy.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan.h"

enum plan_output { PLAN_TEXT, PLAN_EXPLAIN, PLAN_JSON };

/* Everything is borrowed. Paths: "-" is standard input. */
struct plan_check_request {
	const char *plan;
	const char *policy;	 /* NULL: what tools say of themselves decides */
	const char *tools;	 /* a file of tools or of servers, see planner/plan_tools.h */
	const char *tools_name;	 /* of a text, for messages; or NULL */
	struct plan_stop *stop;	 /* or NULL */
	const char *request;	 /* what the user asked for, or NULL */
	bool has_while, is_text; /* is_text: the three are texts, not paths */
	bool may_start;		 /* as in struct plan_request */
	bool has_signals;
	enum plan_output output;
};

/*
 * Check a plan. *report gets what is found.
 *
 * Owns:    the caller ends *report with buf_done().
 * Returns: PLAN_OK; PLAN_DENIED when the policy denies something; PLAN_INVALID when one of the
 *          files is none, or the plan cannot be judged; or negative errno.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT, ERR_IO, ERR_USAGE, ERR_NO_MEMORY.
 */
int plan_check(const struct plan_check_request *req, struct buf *report, struct err *err);

/* A policy with every tool of req->tools, in which what is to be decided has a question mark.
 * Returns: PLAN_OK, negative errno; as plan_check(). */
int plan_skeleton(const struct plan_check_request *req, struct buf *out, struct err *err);

/* Can @text be read as a policy at all? Which tools it may name is not known yet. Errors:
 * ERR_USAGE, with the first place. */
int plan_policy_check(const char *name, const struct buf *text, struct err *err);

/* Run the tests of req->policy; PLAN_FAILED when one fails. The plan is not looked at. */
int plan_test(const struct plan_check_request *req, struct buf *report, struct err *err);
