/* Questions that code in a box puts to a model: a prompt and an answer, no tools, no history.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/wire.h"

/*
 * What is asked beyond QUERY_AT_ONCE waits, and beyond QUERY_WAITING is refused. QUERY_COUNT: how
 * many there are when nobody says another number.
 */
enum {
	QUERY_COUNT = 100,
	QUERY_AT_ONCE = 8,
	QUERY_WAITING = 256,
	QUERY_PROMPT_BYTES_MAX = 4 << 20,
	QUERY_REPLY_BYTES = 256 << 10,
	QUERY_SCHEMA_BYTES = 64 << 10,
	QUERY_TOKEN_BYTES = 4, /* of a token that nobody counted */
};

struct queries;

/* What they cost is the task's. May not close the queries. */
struct query_hooks {
	void *arg;
	uint64_t (*tokens_left)(void *arg); /* UINT64_MAX: any number; NULL: likewise */
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

/* Nothing is heard any more of those under way. NULL is nothing. */
void queries_close(struct queries *q);

/* @answer_take: {"value": …} or {"error": {"name", "message", "hint"?}}; NULL without memory. May
 * not close the queries. */
typedef void query_done(void *arg, json_t *answer_take);

/*
 * Ask. @done follows once, possibly before this returns, unless queries_cancel() comes first; @arg
 * is what it is cancelled by.
 *
 * Shape:   @arguments: {"prompt": TEXT, "context"?: any, "schema"?: {…}}. The value is a text, or
 *          with a schema JSON that fits it.
 * Errors:  ToolArgumentError: they are no such arguments; ToolLimit: too long, or one of the limits
 *          is used up; ToolLost: no answer comes; ToolError: there is none, or it is of no use.
 *          Where the model is stands in none of them: that is in the event.
 */
void queries_ask(struct queries *q, const json_t *arguments, query_done *done, void *arg);
void queries_cancel(struct queries *q, const void *arg);

/* {"model", "count", "failed", "refused", "usage"}. Owns: the caller; NULL without memory. */
json_t *queries_report(const struct queries *q);
