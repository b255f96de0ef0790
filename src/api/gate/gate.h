/* The gate: every tool call passes it, from code in a box and from tool.call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate_handler.h"
#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* The name with which tool.list calls the gate: {"query"?, "limit"?} → {"tools", "servers"}. */
#define GATE_LIST_ALL "retort.list"

enum {
	GATE_ID_BYTES = 32,
	GATE_LIST_MAX = 2000,	      /* most tools in one list */
	GATE_LIST_MS = 10000,	      /* wait for servers' lists of tools */
	GATE_CALLS_PER_MINUTE = 3000, /* per session; servers have their own limits */
};

/* The log entry of a call that is over, without arguments and answer. Borrowed. */
struct gate_line {
	const char *session, *owner, *name; /* owner "": the operator of the engine */
	const char *end;		    /* "ok", "cancelled", or the error's name */
	uint64_t ms, bytes_in, bytes_out;
};
struct gate_log {
	void *arg;
	void (*write)(void *arg, const struct gate_line *line); /* NULL: calls are not logged */
};

struct gate_config {
	uv_loop_t *loop;
	const char *path; /* file that lists tool servers (docs/use/tools.md); NULL: no servers */
	void *arg;
	bool (*may_use_tools)(void *arg, const char *owner);
	/* Find skills for @query, as skills_find(); or NULL. */
	json_t *(*find_skills)(void *arg, const char *query);
	struct gate_log log;
};

/*
 * Open a gate. A server is started when it is first needed, once for all sessions.
 * Owns:    gate_close() and gate_free(), also after an error; *@out is NULL without memory.
 * Errors:  those of servers_load(); ERR_NO_MEMORY.
 */
int gate_open(struct gate **out, const struct gate_config *config, struct err *err);

/* Close the gate, after the registry: unanswered calls get an error, servers are ended. NULL: does
 * nothing. */
void gate_close(struct gate *g);
/* Free the gate after the loop has closed its handles: servers that are ending use their
 * configuration until then. */
void gate_free(struct gate *g);

/* Return the functions through which sessions call the gate. */
struct tool_gate gate_of_sessions(struct gate *g);

/* Delete the call rate of a session that has ended. */
void gate_forget(struct gate *g, const char *session);

/* Are any tool servers configured? */
bool gate_has_tools(const struct gate *g);
/* Append the names of servers in code, such as "crm, files", as far as they fit into @out. Returns:
 * 0, -ENOMEM. */
int gate_write_servers(const struct gate *g, bool is_javascript, struct buf *out);

/* ---- one call ---- */

/* A call to start. Texts are copied. */
struct gate_request {
	const char *session, *owner, *name; /* session "": a client calls */
	const json_t *arguments;	    /* a JSON object */
	const bool *is_tainted; /* read when the call is decided; NULL: the caller is not tainted */
	bool is_approved;	/* approved already, whatever the tool does */
	bool is_trial; /* the step may be discarded, so only tools that read may be called */
	void *arg;
	/* Called once with {"value"} or {"error"}; takes the reference of @answer. @is_untrusted:
	 * the answer may contain data of others. */
	void (*answer)(void *arg, json_t *answer, bool is_untrusted);
};

/* Start a call. Returns: the call, which is valid until it is answered; NULL: it has been answered
 * already. */
struct gate_call *gate_start(struct gate *g, const struct gate_request *request);
/* Cancel a call: `answer` is not called. */
void gate_cancel(struct gate_call *call);
