/* List, search, describe or call the tools of configured servers, and wait for the result.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

enum tools_verb { TOOLS_LIST, TOOLS_SEARCH, TOOLS_STUB, TOOLS_CALL };

enum { TOOLS_TEXT_BYTES = 80 << 20, TOOLS_FOUND_MAX = 20 };

/* A request. All pointers are borrowed. */
struct tools_request {
	enum tools_verb verb;
	const char *config_path;
	const char *what;	 /* a server, words to search for, or "server.tool"; NULL: all */
	const json_t *arguments; /* arguments of TOOLS_CALL */
	bool is_javascript;	 /* TOOLS_STUB: the language */
	bool is_allowed;	 /* approve all calls without asking */
	void *arg;
	/* Ask whether a call is approved. Tools that only read are called without approval.
	 * @text describes the call, and is safe to show. If `approve` is NULL, calls that need
	 * approval are refused. */
	bool (*approve)(void *arg, const char *text);
	/*
	 * Ask a person for input that a server needs: show @prompt, which is safe to show, and read
	 * a line. Returns: the line, which the caller frees; NULL if nobody answers.
	 * If `is_allowed` is set, this function is not called, and each field gets its default. If
	 * `answer` is NULL, requests of servers for input are refused.
	 */
	char *(*answer)(void *arg, const char *prompt);
	/* warn: called for a failure after which the request continues. progress: called when a
	 * server reports the progress of a call. */
	void (*warn)(void *arg, const struct err *err);
	void (*progress)(void *arg, const char *text);
};

enum tools_end {
	TOOLS_DONE,
	TOOLS_TOOL_ERROR, /* the tool failed: see `text` */
	TOOLS_LOST,	  /* a server did not answer; other servers may have answered */
	TOOLS_REFUSED,	  /* the call was not approved */
	TOOLS_WRONG,	  /* the request or the configuration is invalid */
};

struct tools_outcome {
	enum tools_end end;
	json_t *json;	 /* the result as JSON, for programs; or NULL */
	struct buf text; /* the result as text, for people */
	struct err err;	 /* why `end` is not TOOLS_DONE */
};

/* Check the configuration of tool servers in the file @path. Errors: those of servers_load(). */
int tools_check(const char *path, struct err *err);

/*
 * Start the servers that the request needs, perform the request, and end the servers.
 * Blocks:  until the servers have ended. SIGINT or SIGTERM ends them early, with ERR_INTERRUPTED.
 * Owns:    the caller calls tools_done(@out).
 */
void tools_perform(const struct tools_request *request, struct tools_outcome *out);
void tools_done(struct tools_outcome *out);
