/* Who has tools: what there are, and what a call of one comes to. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "label/tool.h"

/* What came of a call. Of the last two @err says why. */
enum tool_outcome {
	TOOL_RESULT,
	TOOL_ERROR,  /* it says that it failed: the result is plain text */
	TOOL_UNSENT, /* it was not called, so nothing has happened */
	TOOL_LOST,   /* it was called, and no answer comes: nobody knows what has happened */
};

/* A question to the model that sees data and has no tools; question is a text, the others JSON. */
struct tool_question {
	const char *question, *data, *schema;
	const char *wrong; /* what is wrong with the answer before; NULL: there is none */
};

/*
 * A provider. Texts in and out are JSON; of TOOL_ERROR the result is plain text.
 * call() and ask(): Returns: enum tool_outcome, or negative errno when nothing can be said.
 */
struct tool_provider {
	void *ctx;
	const struct tool_set *tools;
	int (*call)(void *ctx, const struct tool *tool, const char *arguments, struct buf *out,
		struct err *err);
	int (*ask)(
		void *ctx, const struct tool_question *question, struct buf *out, struct err *err);
};
