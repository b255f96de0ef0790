/* The tools of a plan, from servers or from a file with prepared answers, and the model for ask().
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "planner/plan_stop.h"
#include "tool/fixture.h"

#include <jansson.h>

struct plan_tools;

/* Parameters of plan_tools_open(). They are borrowed; `text` and `stop` must outlive the tools. */
struct plan_tools_config {
	/* `text` is the content of the file of tools, and `name` is the name of this file in
	 * messages */
	const char *text, *name;
	/* Whether servers may be started. If false, plan_tools_open() fails if `text` is a list
	 * of servers. */
	bool may_start;
	/* SIGINT and SIGTERM end a wait for a server or for the model. */
	bool has_signals;
	/* texts of the plan and of the policy; only servers that one of them names are started */
	const char *plan, *policy;
	bool needs_all; /* start all servers */
	/* `model` is the model that answers ask(), and `key_file` the file that contains its
	 * key. If `model` is NULL, ask() gets a prepared answer from the file of tools. If that
	 * file is a list of servers, it has no prepared answers, and ask() fails. */
	const char *model, *key_file;
	/* Lets another thread cancel the plan, which ends a wait for a server or for the model;
	 * NULL if no thread needs to. */
	struct plan_stop *stop;
};

/*
 * Read a file of tools, which contains either tools with prepared answers (tool/fixture.h) or a
 * list of servers (tool/servers.h). Start the servers that the plan or the policy names, and get
 * their tools.
 *
 * Blocks: until servers have responded.
 * Owns:   the caller calls plan_tools_close(), which waits until the servers have ended.
 * Errors: ERR_USAGE if the file is malformed; those of mcp_provider_open(), asker_open().
 */
int plan_tools_open(
	struct plan_tools **out, const struct plan_tools_config *config, struct err *err);
void plan_tools_close(struct plan_tools *t);

/* Helpers that both implementations of this interface share. plan_tools_lists_servers(): return
 * whether @text is a list of servers. plan_tools_refuse_servers(): refuse such a list.
 * plan_tools_read(): read tools with prepared answers. */
bool plan_tools_lists_servers(const char *text);
int plan_tools_refuse_servers(const char *name, struct err *err);
int plan_tools_read(const char *text, const char *name, struct fixture **out, struct err *err);

/* Check that @text is a valid file of tools, without starting a server. Errors: as
 * plan_tools_open(). */
int plan_tools_check(const char *text, const char *name, struct err *err);

/* Return the tools, which are valid until plan_tools_close(). Calls and questions block. */
const struct tool_provider *plan_tools_provider(const struct plan_tools *t);

/* Return the tools as a text for the record, which plan_tools_open() can read again. */
const char *plan_tools_text(const struct plan_tools *t);

/* Watch @channel, which leads to a planner process. If the process ends, the call that is being
 * made for it is cancelled. Call plan_tools_unwatch() before closing the channel. */
void plan_tools_watch(struct plan_tools *t, int channel);
void plan_tools_unwatch(struct plan_tools *t);

/* Return whether a wait for a server or for the model was ended by a signal, by a cancellation
 * of the plan, or by the end of the planner process. If so, later failures are only a
 * consequence of this. */
bool plan_tools_is_given_up(const struct plan_tools *t);

/* Return whether a model answers ask(). A model can be asked again if its answer does not fit the
 * schema. */
bool plan_tools_has_model(const struct plan_tools *t);

/* Return the usage of the model's last response: {"model", "input", "output", "is_estimated"?}.
 * NULL if memory is exhausted. Owns: the caller releases the object. */
json_t *plan_tools_tokens(const struct plan_tools *t);
