/* Approval of tool calls by a person: when a call needs it, and the text of the prompt.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "tool/catalog.h"

enum { APPROVAL_SHOWN_BYTES = 2000, APPROVAL_TEXT_BYTES = 32 << 10 };

/* Must a person approve a call of @tool? Never, when the tool only reads or matches
 * "approveTainted" of its server. When it matches "approve", only if the caller is tainted: it
 * has read untrusted data and may follow instructions in that data. Otherwise always. */
bool approval_is_needed(const struct catalog_tool *tool, bool is_tainted);

/*
 * Append the prompt for the person: the tool, its possible effects, and @arguments, cut at
 * APPROVAL_SHOWN_BYTES with a remark. The text is safe to show: printable ASCII and newlines.
 * Limits: APPROVAL_TEXT_BYTES of @out are enough.
 */
void approval_ask(
	struct buf *out, const struct catalog_tool *tool, const json_t *arguments, bool is_tainted);
