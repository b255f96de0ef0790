/* The model that sees data and has no tools: who answers ask() of plans. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/wire/wire.h"
#include "tool/provider.h"

struct asker;

/* Borrowed; `is_given_up` outlives the asker. */
struct asker_config {
	uv_loop_t *loop;	 /* of this thread: waiting runs it */
	const char *model;	 /* as model_parse() reads it */
	const char *key_file;	 /* NULL: the environment */
	const bool *is_given_up; /* set by a callback of the loop */
};

/* Owns: asker_close(). Errors: those of wire_open(). */
int asker_open(struct asker **out, const struct asker_config *config, struct err *err);

/* Memory goes when the loop is run. NULL is nothing. */
void asker_close(struct asker *a);

/*
 * Ask. The model is told the question, the data and the schema, nothing else; where its wire can,
 * its server holds it to the schema. Whether the answer is of the schema is for the caller to see:
 * JSON goes to @out, or with TOOL_ERROR why there is none. With @q->wrong the model is shown its
 * answer before, which must have been asked for with the same question.
 *
 * Blocks:  until it has answered, or it is given up.
 * Returns: TOOL_RESULT, TOOL_ERROR; TOOL_UNSENT with @err: the wire failed; negative errno.
 */
int asker_ask(struct asker *a, const struct tool_question *q, struct buf *out, struct err *err);

/* What the last asker_ask() used; the model's name. */
struct wire_usage asker_usage(const struct asker *a);
const char *asker_name(const struct asker *a);
