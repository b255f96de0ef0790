/* Approval of tool calls by a person: which calls need it, and the text that the person is shown.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "tool/catalog.h"

enum { APPROVAL_SHOWN_BYTES = 2000, APPROVAL_TEXT_BYTES = 32 << 10 };

/*
 * Return whether a person must approve a call of @tool:
 * - no, if the tool only reads, or if its name matches "approveTainted" in the configuration of its
 *   server;
 * - yes, if the caller is tainted: the caller has read untrusted data, and may follow instructions
 *   in that data;
 * - otherwise yes, unless the tool's name matches "approve" in that configuration.
 */
bool approval_is_needed(const struct catalog_tool *tool, bool is_tainted);

/*
 * Append the text that the person is shown: the tool, what it may do, and @arguments, cut at
 * APPROVAL_SHOWN_BYTES. The text contains only printable ASCII and newlines.
 * Limits:  APPROVAL_TEXT_BYTES suffice for @out.
 */
void approval_ask(
	struct buf *out, const struct catalog_tool *tool, const json_t *arguments, bool is_tainted);
