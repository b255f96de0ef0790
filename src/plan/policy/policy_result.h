/* How what tools return is labelled. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/policy/policy.h"

/*
 * The label of what a tool returns, given that of its arguments and guard. With @item, an element
 * of it (or T_UNSET: any element), of a result that is labelled by item. Returns: LABEL_FAILED.
 */
uint32_t policy_result(const struct policy *p, const struct tool *tool, uint32_t inputs);
uint32_t policy_item(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);

/* Of an item, the label of the fields that are its owner's word, and which those are. Else it is
 * that of the whole. */
uint32_t policy_said(
	const struct policy *p, const struct tool *tool, uint32_t inputs, struct val item);
bool policy_is_said(const struct policy *p, const struct tool *tool, const char *field);
