/* Tool providers: the interface through which plans call tools. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "label/tool.h"

/* The outcome of a call. For TOOL_UNSENT and TOOL_LOST, @err has the reason. */
enum tool_outcome {
	TOOL_RESULT,
	TOOL_ERROR,  /* the tool has failed; the result is its message, as plain text */
	TOOL_UNSENT, /* the call was not sent, so it had no effect */
	/* The call was sent, but no response arrived. Whether it had an effect is unknown. */
	TOOL_LOST,
};

/* A question to a model that sees data but has no tools. `question` is text, `data` and `schema`
 * are JSON. */
struct tool_question {
	const char *question, *data, *schema;
	/* What was wrong with the model's previous answer; NULL at the first attempt. */
	const char *wrong;
};

/* A provider of tools. Arguments and results are JSON texts; the result of a TOOL_ERROR is plain
 * text. call() and ask() return an enum tool_outcome; or negative errno after an internal failure,
 * such as lack of memory. */
struct tool_provider {
	void *ctx;
	const struct tool_set *tools;
	int (*call)(void *ctx, const struct tool *tool, const char *arguments, struct buf *out,
		struct err *err);
	int (*ask)(
		void *ctx, const struct tool_question *question, struct buf *out, struct err *err);
};
