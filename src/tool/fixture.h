/* Tools of a file: what they are, and what they answer. For tests, and to try plans without the
 * world. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/provider.h"

/*
 * {"tools": {"mail.send": {"description", "inputSchema", "outputSchema", "annotations",
 *    "answers": [{"arguments": {…}, "result": …} or {"error": "…"}]}},
 *  "ask": [{"question": "…", "answer": …}]}
 * The first answer counts whose arguments are among those of the call; "question" likewise.
 */
struct fixture;

/*
 * Read one. @name is said in messages.
 *
 * Owns:    fixture_free().
 * Returns: 0, or -EINVAL with the place of what is wrong, -ENOMEM.
 */
int fixture_read(
	const char *text, size_t bytes, const char *name, struct fixture **out, struct err *err);
void fixture_free(struct fixture *f);

/* It outlives what it returns. */
const struct tool_provider *fixture_provider(const struct fixture *f);
