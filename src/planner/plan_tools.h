/* What a plan can call: the tools of a file, which answers itself, or of servers; and the model
 * that answers ask(). SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan_stop.h"
#include "tool/fixture.h"

#include <jansson.h>

struct plan_tools;

/* Borrowed; `text` and `stop` outlive the tools. */
struct plan_tools_config {
	const char *text, *name; /* of the file; name: for messages */
	bool may_start;		 /* may servers be started? If not, a list of servers is refused */
	bool has_signals;	 /* SIGINT and SIGTERM end waiting */
	const char *plan, *policy;    /* texts: only servers that they name are started */
	bool needs_all;		      /* start all servers */
	const char *model, *key_file; /* NULL: the file answers ask() */
	struct plan_stop *stop;	      /* or NULL */
};

/*
 * Read the file: tools with answers (tool/fixture.h), or servers (tool/servers.h). Start the
 * servers that the plan or the policy names, and get their tools.
 *
 * Blocks:  until servers have answered.
 * Owns:    plan_tools_close(), which waits until servers have ended.
 * Errors:  ERR_USAGE: malformed; those of mcp_provider_open(), asker_open().
 */
int plan_tools_open(
	struct plan_tools **out, const struct plan_tools_config *config, struct err *err);
void plan_tools_close(struct plan_tools *t);

/*
 * For an implementation without servers: does @text list servers; refuse them; read tools with
 * answers.
 */
bool plan_tools_lists_servers(const char *text);
int plan_tools_refuse_servers(const char *name, struct err *err);
int plan_tools_read(const char *text, const char *name, struct fixture **out, struct err *err);

/* Is @text a valid file of tools? Starts nothing. Errors: as plan_tools_open(). */
int plan_tools_check(const char *text, const char *name, struct err *err);

/* The result is valid until plan_tools_close(). Calls and questions block. */
const struct tool_provider *plan_tools_provider(const struct plan_tools *t);

/* The tools as a record keeps them: a file that plan_tools_open() reads. */
const char *plan_tools_text(const struct plan_tools *t);

/* Cancel a waiting call when the other end of @channel closes, because the caller ended. Call
 * plan_tools_unwatch() before closing the channel. */
void plan_tools_watch(struct plan_tools *t, int channel);
void plan_tools_unwatch(struct plan_tools *t);

/* Was a call cancelled? Then failures are a consequence of that. */
bool plan_tools_is_given_up(const struct plan_tools *t);

/* Does a model answer ask()? It can be asked again if an answer does not fit. */
bool plan_tools_has_model(const struct plan_tools *t);

/* {"model", "input", "output", "is_estimated"?} of the last question to the model. Owns: the
 * caller; NULL without memory. */
json_t *plan_tools_tokens(const struct plan_tools *t);
