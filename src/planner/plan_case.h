/* Prepares a plan with its tools, policy, limits and request.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/check/check.h"
#include "plan/policy/ground.h"
#include "plan/policy/policy_list.h"
#include "plan/program/program.h"
#include "planner/plan.h"
#include "planner/plan_tools.h"

/*
 * All verbs prepare a plan here, so that names, limits and policy are the same for all of them. The
 * order of calls: case_read(), or sources set by the caller; case_open(); case_load();
 * case_check(). Without tools (see case_has_flows()) case_open() and case_check() are not needed.
 */
struct plan_case {
	const struct plan_request *req;
	struct buf plan_text, policy_text, tools_text; /* texts from case_read() */
	struct source plan, policy_src;	    /* policy_src.text is NULL without a policy */
	const char *tools_source, *request; /* texts; NULL: not given */
	bool may_start;			    /* may start servers and ask the model */
	struct plan_tools *opened;
	const struct tool_provider *tools; /* NULL before case_open() */
	struct labels *labels;
	struct policy policy;
	struct diags policy_diags;
	struct ground ground;
	struct policy_listed listed;
	struct program p;
	struct check check;
};

/* Does @req have tools, or other things that only plans with tools use? */
bool case_has_flows(const struct plan_request *req);

/* Read the files, or copy the texts, of @req. Returns: 0, negative errno. */
int case_read(struct plan_case *c, const struct plan_request *req, struct err *err);

/* Open the tools and parse the policy. Returns: 0; PLAN_INVALID with policy_diags; negative errno.
 */
int case_open(struct plan_case *c, struct err *err);

/* Parse, resolve and compile the plan, with its tools if they are open. Returns: 0; PLAN_INVALID
 * with p.diags; negative errno. */
int case_load(struct plan_case *c, struct err *err);

/* Check every flow. Returns: PLAN_OK, PLAN_DENIED; PLAN_INVALID with p.diags. */
int case_check(struct plan_case *c);

/* Append the diagnostics of the policy or, if it has none, those of the plan. Returns: 0, -E2BIG,
 * -ENOMEM. */
int case_report(const struct plan_case *c, struct buf *out, bool is_json);

void case_done(struct plan_case *c);
