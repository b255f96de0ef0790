/* The model that answers ask() of plans: it sees data and has no tools. SPDX-License-Identifier:
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

/* The memory is freed when the loop runs. NULL is nothing. */
void asker_close(struct asker *a);

/*
 * Ask. The model is sent the question, the data and the schema, nothing else. A server that can
 * enforces the schema; the caller has to check it nevertheless. @out is the JSON, or after
 * TOOL_ERROR the reason why there is no answer. If @q->wrong is set, the model is also shown its
 * last answer, which must belong to the same question.
 *
 * Blocks:  until it has answered, or it is given up.
 * Returns: TOOL_RESULT, TOOL_ERROR; TOOL_UNSENT with @err: the wire failed; negative errno.
 */
int asker_ask(struct asker *a, const struct tool_question *q, struct buf *out, struct err *err);

/* The usage of the last asker_ask(); the model's name. */
struct wire_usage asker_usage(const struct asker *a);
const char *asker_name(const struct asker *a);
