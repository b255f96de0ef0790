/* Every flow of a plan against a policy, before it runs: no value of an origin reaches a parameter
 * except as the policy allows. Termination and timing are no flows. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/check/check_finding.h"
#include "plan/policy/ground.h"
#include "plan/syntax/resolve.h"

struct check {
	struct heap *heap;
	struct source src;
	const struct node *tree;
	const struct policy *policy;
	const char *request; /* NULL: not known */
	struct diags *diags;
	struct check_call **calls;
	uint32_t n_calls;
	uint32_t n_denied, n_asked, n_depends; /* findings */
	bool has_margin; /* keep labels of what is assigned, for check_explain() */
	struct margin *margin;
	uint32_t n_margins;
};

/*
 * Check a plan that was parsed and resolved. Set in @c: all up to `diags`, and `has_margin`.
 * Returns: 0, also when the policy denies something, see n_denied; -1 with diagnostics when the
 *          plan cannot be judged, which refuses it as well.
 */
int check_plan(struct check *c);

/*
 * Append what was found: as text for people, the findings with their witnesses; with @is_explained
 * the plan with its labels, the calls and every answer; or all of it as one JSON object. No value
 * of a run is in any of them. Returns: 0, -E2BIG, -ENOMEM.
 */
int check_text(const struct check *c, struct buf *out);
int check_explain(const struct check *c, struct buf *out);
int check_json(const struct check *c, struct buf *out);
