/* Queries of code in a box to a model: a prompt and an answer, no tools, no history.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/wire.h"

/* QUERY_AT_ONCE: queries that run at the same time. QUERY_WAITING: queries that wait; further ones
 * are refused. QUERY_COUNT: the default for the total number of queries. */
enum {
	QUERY_COUNT = 100,
	QUERY_AT_ONCE = 8,
	QUERY_WAITING = 256,
	QUERY_PROMPT_BYTES_MAX = 4 << 20,
	QUERY_REPLY_BYTES = 256 << 10,
	QUERY_SCHEMA_BYTES = 64 << 10,
	QUERY_TOKEN_BYTES = 4, /* bytes per token in estimates, when the server did not count */
};

struct queries;

/* Callbacks that charge queries to the task. A hook must not close the queries. */
struct query_hooks {
	void *arg;
	uint64_t (*tokens_left)(void *arg); /* rest of the task's token limit; UINT64_MAX or a NULL
					       hook: no limit */
	void (*spent)(void *arg, const struct wire_usage *usage); /* usage of one query; or NULL */
	/* Receive an event: {"event": "query", …}, borrowed; docs/use/agent.md describes it. Or
	 * NULL. */
	void (*event)(void *arg, const json_t *event);
};

struct queries_config {
	struct wire *wire;     /* borrowed; must stay open until the queries are closed */
	uint64_t count;	       /* maximum number of queries in all */
	uint64_t prompt_bytes; /* maximum length of a prompt with its context; at most
				  QUERY_PROMPT_BYTES_MAX */
	struct query_hooks hooks;
};

/* Create an empty set of queries. Owns: the caller ends it with queries_close(). */
struct queries *queries_open(const struct queries_config *config);

/* Cancel all running queries, and free the set. @q may be NULL. */
void queries_close(struct queries *q);

/* Receive the answer: {"value": …} or {"error": {"name", "message", "hint"?}}; NULL without memory.
 * Must not close the queries. */
typedef void query_done(void *arg, json_t *answer_take);

/*
 * Start a query. @done is called once, possibly before this function returns, unless
 * queries_cancel() is called first with the same @arg.
 *
 * Shape:   @arguments: {"prompt": TEXT, "context"?: any, "schema"?: {…}}. The value is a text, or
 *          with a schema JSON that fits it.
 * Errors:  ToolArgumentError: malformed arguments; ToolLimit: too long, or a limit is reached;
 * ToolLost: the model cannot be reached; ToolError: the model gave no answer, or an invalid one.
 * The errors hide the model's address from the box; the event shows it to the user.
 */
void queries_ask(struct queries *q, const json_t *arguments, query_done *done, void *arg);
void queries_cancel(struct queries *q, const void *arg);

/* Return {"model", "count", "failed", "refused", "usage"}. Owns: the caller; NULL without memory.
 */
json_t *queries_report(const struct queries *q);
