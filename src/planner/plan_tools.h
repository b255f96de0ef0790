/* The tools of a plan, with results from a file or from servers, and the model for ask().
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan_stop.h"
#include "tool/fixture.h"

#include <jansson.h>

struct plan_tools;

/* Parameters of plan_tools_open(), borrowed; `text` and `stop` must outlive the tools. */
struct plan_tools_config {
	const char *text, *name;      /* text of the file of tools; its name in messages */
	bool may_start;		      /* false: a list of servers is refused */
	bool has_signals;	      /* SIGINT and SIGTERM end a wait */
	const char *plan, *policy;    /* texts; only servers that they name are started */
	bool needs_all;		      /* start all servers */
	const char *model, *key_file; /* NULL: the file of tools answers ask() */
	struct plan_stop *stop;	      /* cancels waits from another thread, or NULL */
};

/*
 * Read the file, which has tools with results (tool/fixture.h) or servers (tool/servers.h). Start
 * the servers that the plan or the policy names, and get their tools.
 *
 * Blocks: until servers have responded.
 * Owns:   plan_tools_close(), which waits until servers have ended.
 * Errors: ERR_USAGE: malformed; those of mcp_provider_open(), asker_open().
 */
int plan_tools_open(
	struct plan_tools **out, const struct plan_tools_config *config, struct err *err);
void plan_tools_close(struct plan_tools *t);

/*
 * For implementations without servers: tell whether @text lists servers; refuse such a list; read
 * tools with results.
 */
bool plan_tools_lists_servers(const char *text);
int plan_tools_refuse_servers(const char *name, struct err *err);
int plan_tools_read(const char *text, const char *name, struct fixture **out, struct err *err);

/* Check whether @text is a valid file of tools, without starting a server. Errors: as
 * plan_tools_open(). */
int plan_tools_check(const char *text, const char *name, struct err *err);

/* Return the tools, valid until plan_tools_close(). Calls and questions block. */
const struct tool_provider *plan_tools_provider(const struct plan_tools *t);

/* Return the tools in the form for a record: a file that plan_tools_open() reads. */
const char *plan_tools_text(const struct plan_tools *t);

/* Cancel a pending call when the other end of @channel closes, because the planner process has
 * ended. Call plan_tools_unwatch() before closing the channel. */
void plan_tools_watch(struct plan_tools *t, int channel);
void plan_tools_unwatch(struct plan_tools *t);

/* Was a call cancelled? Then later failures follow from that. */
bool plan_tools_is_given_up(const struct plan_tools *t);

/* Does a model answer ask()? If its response does not fit the schema, it can be asked again. */
bool plan_tools_has_model(const struct plan_tools *t);

/* Return {"model", "input", "output", "is_estimated"?}, the usage of the model's last response.
 * Owns: the caller; NULL without memory. */
json_t *plan_tools_tokens(const struct plan_tools *t);
