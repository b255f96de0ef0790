/* Tool providers: the interface through which plans call tools. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "label/tool.h"

/* The outcome of a call. For the last two, @err has the reason. */
enum tool_outcome {
	TOOL_RESULT,
	TOOL_ERROR,  /* the tool failed; the result is its plain-text message */
	TOOL_UNSENT, /* the call was not sent, so it had no effect */
	TOOL_LOST,   /* the call was sent, but no response arrives: its effect is unknown */
};

/* A question to the model that sees data and has no tools. `question` is text; the others are
 * JSON. */
struct tool_question {
	const char *question, *data, *schema;
	const char *wrong; /* error in the model's previous answer; NULL: first attempt */
};

/*
 * A provider. Arguments and results are JSON; the result of a TOOL_ERROR is plain text.
 * call() and ask(): Returns: enum tool_outcome, or negative errno on an internal failure, such as
 * no memory.
 */
struct tool_provider {
	void *ctx;
	const struct tool_set *tools;
	int (*call)(void *ctx, const struct tool *tool, const char *arguments, struct buf *out,
		struct err *err);
	int (*ask)(
		void *ctx, const struct tool_question *question, struct buf *out, struct err *err);
};
