/* Whether a person is asked before a tool is called, and what. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "tool/catalog.h"

enum { APPROVAL_SHOWN_BYTES = 2000, APPROVAL_TEXT_BYTES = 32 << 10 };

/*
 * What only reads is called; of the rest, what the server's configuration lets pass: by "approve",
 * and for whoever has read what is not trusted, who may be doing what that said, by
 * "approveTainted", which counts for all.
 */
bool approval_is_needed(const struct catalog_tool *tool, bool is_tainted);

/*
 * Append what a person is asked: the tool, what it may do, and @arguments, cut at
 * APPROVAL_SHOWN_BYTES, which is said. Safe to show: printable ASCII and newlines.
 * Limits:  APPROVAL_TEXT_BYTES of @out are enough.
 */
void approval_ask(
	struct buf *out, const struct catalog_tool *tool, const json_t *arguments, bool is_tainted);
