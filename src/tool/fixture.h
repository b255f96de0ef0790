/* A file of tools with canned results: for tests, and for trying plans without servers.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/provider.h"

/*
 * {"tools": {"mail.send": {"description", "inputSchema", "outputSchema", "annotations",
 *    "answers": [{"arguments": {…}, "result": …} or {"error": "…"}]}},
 *  "ask": [{"question": "…", "answer": …}]}
 * A call gets the first of "answers" whose "arguments" all occur in the call. A question gets the
 * first of "ask" whose "question" it contains.
 */
struct fixture;

/*
 * Read a file of tools. @name: the file's name for messages.
 *
 * Owns: fixture_free().
 * Returns: 0; -EINVAL with the place of the mistake; -ENOMEM.
 */
int fixture_read(
	const char *text, size_t bytes, const char *name, struct fixture **out, struct err *err);
void fixture_free(struct fixture *f);

/* Return the provider of these tools. The fixture must outlive it. */
const struct tool_provider *fixture_provider(const struct fixture *f);
