/* What a plan can call: the tools of a file, which answers itself, or of servers; and the model
 * that answers ask(). SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan_stop.h"
#include "tool/fixture.h"

#include <jansson.h>

struct plan_tools;

/* Borrowed; `text` and `stop` outlive the tools. */
struct plan_tools_config {
	const char *text, *name;      /* of the file; name: for messages */
	bool may_start;		      /* servers and programs; else a list of them is refused */
	bool has_signals;	      /* SIGINT and SIGTERM give up what is waited for */
	const char *plan, *policy;    /* texts: the servers that they name are started */
	bool needs_all;		      /* all servers are */
	const char *model, *key_file; /* NULL: the file answers ask() */
	struct plan_stop *stop;	      /* or NULL */
};

/*
 * Read the file: tools and answers (tool/fixture.h), or servers (tool/servers.h), as it says. Of
 * servers those that the plan or the policy names are started and asked.
 *
 * Blocks:  until servers have answered.
 * Owns:    plan_tools_close(), which waits until servers have ended.
 * Errors:  ERR_USAGE: it is neither, or wrong; those of mcp_provider_open(), asker_open().
 */
int plan_tools_open(
	struct plan_tools **out, const struct plan_tools_config *config, struct err *err);
void plan_tools_close(struct plan_tools *t);

/*
 * The parts of it, for who has no servers: does @text list servers; that they are refused; tools
 * that answer by themselves.
 */
bool plan_tools_lists_servers(const char *text);
int plan_tools_refuse_servers(const char *name, struct err *err);
int plan_tools_read(const char *text, const char *name, struct fixture **out, struct err *err);

/* Can @text be read as one or the other? Starts nothing. Errors: as plan_tools_open(). */
int plan_tools_check(const char *text, const char *name, struct err *err);

/* It outlives what it returns. Calls and questions block. */
const struct tool_provider *plan_tools_provider(const struct plan_tools *t);

/* The tools as a record keeps them: a file that plan_tools_open() reads. */
const char *plan_tools_text(const struct plan_tools *t);

/* While a call waits: whoever asked for it ends, with the other end of @channel, and it is given
 * up. Until plan_tools_unwatch(), before the channel is closed. */
void plan_tools_watch(struct plan_tools *t, int channel);
void plan_tools_unwatch(struct plan_tools *t);

/* Has it been given up? Anything that failed then failed for that. */
bool plan_tools_is_given_up(const struct plan_tools *t);

/* Can ask() be asked once more when its answer does not fit? */
bool plan_tools_has_model(const struct plan_tools *t);

/* {"model", "input", "output", "is_estimated"?} of the last question to the model. Owns: the
 * caller; NULL without memory. */
json_t *plan_tools_tokens(const struct plan_tools *t);
