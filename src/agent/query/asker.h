/* The model that responds to ask() in plans: it sees the data and has no tools.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/wire.h"
#include "tool/provider.h"

struct asker;

/* The configuration of an asker. Borrowed; `is_given_up` outlives the asker. */
struct asker_config {
	uv_loop_t *loop;	 /* event loop of this thread, which runs while the asker waits */
	const char *model;	 /* the model, in the form that model_parse() reads */
	const char *key_file;	 /* file with the key; NULL: the key comes from the environment */
	const bool *is_given_up; /* set by a callback of the loop to abort the wait */
};

/* Open the wire to the model. Owns: asker_close(). Errors: those of wire_open(). */
int asker_open(struct asker **out, const struct asker_config *config, struct err *err);

/* Close the asker; its memory is freed when the loop runs. @a may be NULL. */
void asker_close(struct asker *a);

/*
 * Ask the model. It receives the question, the data and the schema, nothing else. Some servers
 * enforce the schema; the caller has to check the result nevertheless. @out is the JSON, or after
 * TOOL_ERROR the reason why the model gave no answer. If @q->wrong is set, the model is also shown
 * its last answer, which must belong to the same question.
 *
 * Blocks:  until the model has answered, or `is_given_up` is set.
 * Returns: TOOL_RESULT, TOOL_ERROR; TOOL_UNSENT with @err: the wire failed; negative errno.
 */
int asker_ask(struct asker *a, const struct tool_question *q, struct buf *out, struct err *err);

/* Return the usage of the last asker_ask(); return the model's name. */
struct wire_usage asker_usage(const struct asker *a);
const char *asker_name(const struct asker *a);
