/* Queries to a model from code in a box: a prompt and an answer, without tools and history.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/wire.h"

/*
 * QUERY_AT_ONCE: maximum number of running queries.
 * QUERY_WAITING: maximum number of waiting queries; further queries are refused.
 * QUERY_COUNT: default for the total number of queries.
 */
enum {
	QUERY_COUNT = 100,
	QUERY_AT_ONCE = 8,
	QUERY_WAITING = 256,
	QUERY_PROMPT_BYTES_MAX = 4 << 20,
	QUERY_REPLY_BYTES = 256 << 10,
	QUERY_SCHEMA_BYTES = 64 << 10,
	QUERY_TOKEN_BYTES = 4, /* estimated bytes per token, if the server did not count */
};

struct queries;

/* Callbacks of a set of queries. By tokens_left() and spent(), the tokens of the queries count
 * towards the token limit of the task whose code makes the queries. No callback may close the set
 * of queries. */
struct query_hooks {
	void *arg;
	/* Return what is left of the task's token limit; UINT64_MAX if there is no limit. If the
	 * hook is NULL, there is none. */
	uint64_t (*tokens_left)(void *arg);
	/* Charge the usage of one query to the task. The hook may be NULL. */
	void (*spent)(void *arg, const struct wire_usage *usage);
	/* Receive an event, {"event": "query", …}, borrowed. docs/use/agent.md describes it. The
	 * hook may be NULL. */
	void (*event)(void *arg, const json_t *event);
};

struct queries_config {
	struct wire *wire;     /* borrowed; must stay open until the queries are closed */
	uint64_t count;	       /* maximum number of queries in all */
	uint64_t prompt_bytes; /* maximum length of a prompt; at most QUERY_PROMPT_BYTES_MAX */
	struct query_hooks hooks;
};

/* Create an empty set of queries. Owns: the caller, until queries_close(). */
struct queries *queries_open(const struct queries_config *config);

/* Cancel all queries without calling their callbacks, and free the set. @q may be NULL. */
void queries_close(struct queries *q);

/* Receive the answer to a query: {"value": …} or {"error": {"name", "message", "hint"?}}.
 * @answer_take is NULL if memory is exhausted. The callback owns the reference. It must not
 * close the queries. */
typedef void query_done(void *arg, json_t *answer_take);

/*
 * Start a query. @done is called exactly once, possibly before this function returns. It is not
 * called if queries_cancel() is called with the same @arg before that.
 *
 * Shape:   @arguments: {"prompt": TEXT, "context"?: any, "schema"?: {…}}. The value of the answer
 * is a text; with a schema it is JSON that fits the schema.
 * Errors:  are part of the answer:
 * ToolArgumentError: malformed arguments;
 * ToolLimit: the prompt or the reply is too long, or a limit is reached;
 * ToolLost: the model cannot be reached;
 * ToolError: the model gave no answer, or an invalid one.
 * The box sees these errors, so they do not contain the model's address. The event for the user may
 * contain it.
 */
void queries_ask(struct queries *q, const json_t *arguments, query_done *done, void *arg);
void queries_cancel(struct queries *q, const void *arg);

/* Return {"model", "count", "failed", "refused", "usage"} for the queries so far. Owns: the
 * caller; NULL if memory is exhausted. */
json_t *queries_report(const struct queries *q);
