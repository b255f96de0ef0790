/* List, search, describe or call tools of configured servers, and wait for the result.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum tools_verb { TOOLS_LIST, TOOLS_SEARCH, TOOLS_STUB, TOOLS_CALL };

enum { TOOLS_TEXT_BYTES = 80 << 20, TOOLS_FOUND_MAX = 20 };

/* A request. All members are borrowed. */
struct tools_request {
	enum tools_verb verb;
	const char *config_path;
	const char *what;	 /* a server, a query, "server.tool"; NULL: all tools */
	const json_t *arguments; /* arguments of TOOLS_CALL */
	bool is_javascript;	 /* TOOLS_STUB: the language */
	bool is_allowed;	 /* all calls are approved without asking */
	void *arg;
	/* Is a call approved? @text is safe to show. Calls that only read need no approval. */
	bool (*approve)(void *arg, const char *text);
	/* Ask for input that a server needs: return the line that the person types at @prompt,
	 * which is safe to show; the line is freed. NULL: nobody answers. Not called with
	 * is_allowed: then fields get their defaults. */
	char *(*answer)(void *arg, const char *prompt);
	/* Called for a failure that does not stop the rest; for the progress of a call. */
	void (*warn)(void *arg, const struct err *err);
	void (*progress)(void *arg, const char *text);
};

enum tools_end {
	TOOLS_DONE,
	TOOLS_TOOL_ERROR, /* the tool reported an error: see `text` */
	TOOLS_LOST,	  /* a server did not answer; TOOLS_LIST: the other servers did */
	TOOLS_REFUSED,	  /* the call was not approved */
	TOOLS_WRONG,	  /* the request or the configuration is wrong */
};

struct tools_outcome {
	enum tools_end end;
	json_t *json;	 /* the result as JSON for programs, or NULL */
	struct buf text; /* the result as text for people */
	struct err err;	 /* set unless `end` is TOOLS_DONE */
};

/* Is @path a valid configuration? Errors: those of servers_load(). */
int tools_check(const char *path, struct err *err);

/*
 * Start the servers that the request needs, perform it, and end them.
 * Blocks:  until the servers have ended; SIGINT and SIGTERM end it early, with ERR_INTERRUPTED.
 * Owns:    tools_done(@out).
 */
void tools_perform(const struct tools_request *request, struct tools_outcome *out);
void tools_done(struct tools_outcome *out);
