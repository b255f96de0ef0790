/* The tools of configured servers, for who asks once and waits. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum tools_verb { TOOLS_LIST, TOOLS_SEARCH, TOOLS_STUB, TOOLS_CALL };

enum { TOOLS_TEXT_BYTES = 80 << 20, TOOLS_FOUND_MAX = 20 };

/* Borrowed. */
struct tools_request {
	enum tools_verb verb;
	const char *config_path;
	const char *what;	 /* a server, a query, "server.tool"; NULL: all */
	const json_t *arguments; /* of TOOLS_CALL */
	bool is_javascript;	 /* TOOLS_STUB */
	bool is_allowed;	 /* whatever a tool may do */
	void *arg;
	/* May it be called? @text is safe to show. Not asked of what is read-only. */
	bool (*approve)(void *arg, const char *text);
	/* A server asks a person: the line that answers @prompt, which is safe to show, to be
	 * freed. Returns: NULL: nobody does. Where all is allowed it is not asked: fields get their
	 * defaults. */
	char *(*answer)(void *arg, const char *prompt);
	/* Something went wrong that does not stop the rest; how far a call is. */
	void (*warn)(void *arg, const struct err *err);
	void (*progress)(void *arg, const char *text);
};

enum tools_end {
	TOOLS_DONE,
	TOOLS_TOOL_ERROR, /* the tool said that it failed: @text has it */
	TOOLS_LOST,	  /* a server gave no answer; TOOLS_LIST: the rest is there */
	TOOLS_REFUSED,	  /* it was not allowed */
	TOOLS_WRONG,	  /* the request is, or the configuration */
};

struct tools_outcome {
	enum tools_end end;
	json_t *json;	 /* as a program reads it, or NULL */
	struct buf text; /* as a person does */
	struct err err;	 /* when it is not TOOLS_DONE */
};

/* Is @path such a configuration? Errors: those of servers_load(). */
int tools_check(const char *path, struct err *err);

/*
 * Start the servers that are needed, ask them, end them.
 * Blocks:  until they have ended; SIGINT and SIGTERM end it early, with ERR_INTERRUPTED.
 * Owns:    tools_done(@out).
 */
void tools_perform(const struct tools_request *request, struct tools_outcome *out);
void tools_done(struct tools_outcome *out);
