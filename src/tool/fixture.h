/* A file of tools with prepared answers: for tests, and for trying plans without servers.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/provider.h"

/*
 * The content of a file of tools with prepared answers:
 *
 * {"tools": {"mail.send": {"description", "inputSchema", "outputSchema", "annotations", "_meta",
 *    "answers": [{"arguments": {…}, "result": …} or {"arguments": {…}, "error": "…"}]}},
 *  "ask": [{"question": "…", "answer": …}]}
 *
 * Of "_meta", only the hosts of tool/hosts.h are used. A call of a tool gets the first of its
 * "answers" whose "arguments" are all among those of the call. A question to the model gets the
 * first "answer" whose "question" it contains.
 */
struct fixture;

/*
 * Parse a file of tools. @name is the file's name for messages.
 *
 * Owns:    the caller frees *@out with fixture_free().
 * Returns: 0; -EINVAL with the place of the mistake in @err; -ENOMEM.
 */
int fixture_read(
	const char *text, size_t bytes, const char *name, struct fixture **out, struct err *err);
void fixture_free(struct fixture *f);

/* Return a provider that answers from the file. The fixture must outlive it. */
const struct tool_provider *fixture_provider(const struct fixture *f);
