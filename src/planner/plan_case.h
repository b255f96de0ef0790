/* A plan with its tools, policy, limits and request, prepared for checking and running.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/check/check.h"
#include "plan/policy/ground.h"
#include "plan/policy/policy_list.h"
#include "plan/program/program.h"
#include "planner/plan.h"
#include "planner/plan_tools.h"

/*
 * All subcommands prepare a plan with these functions, so that names, limits and policy are the
 * same for all of them. Call them in this order: case_read() (or set the sources directly),
 * case_open(), case_load(), case_check(). Without tools (see case_has_flows()), only case_read()
 * and case_load() are needed.
 */
struct plan_case {
	const struct plan_request *req;
	/* The policy is an operand, as in `retort plan test POLICY`, and not the option --policy.
	 */
	bool is_policy_operand;
	struct buf plan_text, policy_text, tools_text; /* texts from case_read() */
	struct source plan, policy_src; /* policy_src.text is NULL if there is no policy */
	/* `tools_source` is the text of the file of tools, `request` is the text of the user's
	 * request. Both may be NULL. */
	const char *tools_source, *request;
	bool may_start; /* whether servers may be started and the model may be asked */
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

/* Return whether @req has tools, a policy, a record or a model, which only plans with tools use. */
bool case_has_flows(const struct plan_request *req);

/* Read the files of @req, or copy its texts. Returns: 0, negative errno. */
int case_read(struct plan_case *c, const struct plan_request *req, struct err *err);

/* Open the tools and parse the policy. Returns: 0; PLAN_INVALID with diagnostics in policy_diags;
 * negative errno. */
int case_open(struct plan_case *c, struct err *err);

/* Parse, resolve and compile the plan, with the tools if they are open. Returns: 0; PLAN_INVALID
 * with diagnostics in p.diags; negative errno. */
int case_load(struct plan_case *c, struct err *err);

/* Check every flow. Returns: PLAN_OK; PLAN_DENIED; PLAN_INVALID with diagnostics in p.diags. */
int case_check(struct plan_case *c);

/* Append the diagnostics of the policy. If it has none, append those of the plan. Returns: 0,
 * -E2BIG, -ENOMEM. */
int case_report(const struct plan_case *c, struct buf *out, bool is_json);

void case_done(struct plan_case *c);
