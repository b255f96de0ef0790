/* Questions that code in a box puts to a model: a prompt and an answer, no tools, no history.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/wire.h"

/* At most QUERY_AT_ONCE queries run, and QUERY_WAITING wait; further ones are refused. QUERY_COUNT:
 * the default of how many may be asked in all. */
enum {
	QUERY_COUNT = 100,
	QUERY_AT_ONCE = 8,
	QUERY_WAITING = 256,
	QUERY_PROMPT_BYTES_MAX = 4 << 20,
	QUERY_REPLY_BYTES = 256 << 10,
	QUERY_SCHEMA_BYTES = 64 << 10,
	QUERY_TOKEN_BYTES = 4, /* estimate, where tokens were not counted */
};

struct queries;

/* Their cost is part of the task's. A hook may not close the queries. */
struct query_hooks {
	void *arg;
	uint64_t (*tokens_left)(void *arg); /* UINT64_MAX: no limit; NULL: likewise */
	void (*spent)(void *arg, const struct wire_usage *usage); /* or NULL */
	/* {"event": "query", …}, borrowed; docs/use/agent.md lists it. Or NULL. */
	void (*event)(void *arg, const json_t *event);
};

struct queries_config {
	struct wire *wire;     /* stays the caller's, and open until the queries are closed */
	uint64_t count;	       /* how many may be asked in all */
	uint64_t prompt_bytes; /* of a prompt with its context; at most QUERY_PROMPT_BYTES_MAX */
	struct query_hooks hooks;
};

/* Owns: the caller ends it with queries_close(). */
struct queries *queries_open(const struct queries_config *config);

/* Cancels all that run. NULL is nothing. */
void queries_close(struct queries *q);

/* @answer_take: {"value": …} or {"error": {"name", "message", "hint"?}}; NULL without memory. May
 * not close the queries. */
typedef void query_done(void *arg, json_t *answer_take);

/*
 * Ask. @done follows once, possibly before this returns, unless queries_cancel() is called first
 * with the same @arg.
 *
 * Shape:   @arguments: {"prompt": TEXT, "context"?: any, "schema"?: {…}}. The value is a text, or
 *          with a schema JSON that fits it.
 * Errors:  ToolArgumentError: malformed arguments; ToolLimit: too long, or a limit is reached;
 * ToolLost: the model cannot be reached; ToolError: it gave no answer, or a useless one. None of
 * them tells the box where the model is; the event does.
 */
void queries_ask(struct queries *q, const json_t *arguments, query_done *done, void *arg);
void queries_cancel(struct queries *q, const void *arg);

/* {"model", "count", "failed", "refused", "usage"}. Owns: the caller; NULL without memory. */
json_t *queries_report(const struct queries *q);
