/* The model that answers ask() in plans. It sees the data, and has no tools.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/wire.h"
#include "tool/provider.h"

struct asker;

/* The configuration of an asker. The texts are needed only until asker_open() returns.
 * `is_given_up` must outlive the asker. */
struct asker_config {
	uv_loop_t *loop;      /* event loop of this thread; asker_ask() runs it while it waits */
	const char *model;    /* the model, as model_parse() reads it */
	const char *key_file; /* file with the key; NULL if it comes from the environment */
	/* A callback of the event loop may set this to true to end the wait of asker_ask(). The
	 * pointer may be NULL. */
	const bool *is_given_up;
};

/* Open the wire to the model. Owns: the caller, until asker_close(). Errors: those of
 * wire_open(). */
int asker_open(struct asker **out, const struct asker_config *config, struct err *err);

/* Close the asker, which may be NULL. The wire's memory is freed later, when the loop runs. */
void asker_close(struct asker *a);

/*
 * Ask the model. It receives the question, the data and the schema, and nothing else. Some servers
 * enforce the schema, but the caller must check the answer nevertheless.
 *
 * To ask a question again, set @q->wrong to what is wrong with the model's last answer. The model
 * is then also shown this answer and @q->wrong.
 *
 * Blocks:  until the model has answered, or `is_given_up` is set.
 * Returns: TOOL_RESULT: @out is the answer as JSON;
 * TOOL_ERROR: the reply has no JSON, and @out says so;
 * TOOL_UNSENT: the model gave no reply, for the reason in @err;
 * or negative errno.
 */
int asker_ask(struct asker *a, const struct tool_question *q, struct buf *out, struct err *err);

/* asker_usage() returns the usage of the last asker_ask(), asker_name() the name of the model. */
struct wire_usage asker_usage(const struct asker *a);
const char *asker_name(const struct asker *a);
