/* The gate, through which every tool call passes: calls from code in a box, and tool.call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate_handler.h"
#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* The name of the call by which tool.list gets the tools. The arguments are {"query"?,
 * "limit"?}, the answer is {"tools", "servers"}. */
#define GATE_LIST_ALL "retort.list"

enum {
	GATE_ID_BYTES = 32,
	GATE_LIST_MAX = 2000,	      /* maximum of tools in a list */
	GATE_LIST_MS = 10000,	      /* how long a call waits for servers' lists of tools */
	GATE_CALLS_PER_MINUTE = 3000, /* maximum for one session; each server has its own limit */
};

/* The log entry of a call that is over. Arguments and answer are not logged. Borrowed. */
struct gate_line {
	/* session is "" if a client made the call. owner is "" for the operator. */
	const char *session, *owner, *name;
	const char *end; /* how the call ended: "ok", "cancelled", or the error's name */
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
	/* Find skills for @query, as skills_find() does. NULL: the engine has no skills. */
	json_t *(*find_skills)(void *arg, const char *query);
	struct gate_log log;
};

/*
 * Open a gate. Each server is started when it is first needed, and shared by all sessions.
 * Owns:    the caller calls gate_close() and then gate_free(), also after an error.
 * Errors:  those of servers_load(); ERR_NO_MEMORY.
 */
int gate_open(struct gate **out, const struct gate_config *config, struct err *err);

/* Close the gate, after the registry was closed. Calls that are not answered yet get an error,
 * and servers are ended. NULL: do nothing. */
void gate_close(struct gate *g);
/* Free the gate. Call this after the loop has closed all handles of the gate: until then,
 * servers that are ending use the configuration that the gate owns. */
void gate_free(struct gate *g);

/* Return the functions by which sessions call the gate. */
struct tool_gate gate_of_sessions(struct gate *g);

/* Forget the rate of calls of a session that has ended. */
void gate_forget(struct gate *g, const char *session);

/* Return whether any tool server is configured. */
bool gate_has_tools(const struct gate *g);
/* Append the names of the servers as code uses them, such as "crm, files". Names that do not fit
 * into @out are left out. Returns: 0, -ENOMEM. */
int gate_write_servers(const struct gate *g, bool is_javascript, struct buf *out);

/* ---- starting and cancelling a call ---- */

/* A call to start. Its texts are copied. */
struct gate_request {
	/* session is "" if a client makes the call. owner is "" for the operator. */
	const char *session, *owner, *name;
	const json_t *arguments; /* a JSON object */
	const bool *is_tainted;	 /* the session's taint, read at each decision; NULL: untainted */
	bool is_approved;	 /* the caller has approved the call in advance */
	/* The step is a candidate, which may be discarded. So it may only call read-only tools. */
	bool is_trial;
	bool is_connection; /* a question whether programs may connect to a host: CONNECT_NAME */
	void *arg;
	/* Called once, with {"value"} or {"error"}. @answer: the callback takes the reference.
	 * @is_untrusted: the answer may contain data that others wrote. */
	void (*answer)(void *arg, json_t *answer, bool is_untrusted);
};

/* Start a call. gate_start() may call `answer` before it returns, for example to refuse the call.
 * Returns: NULL if it has called `answer`; otherwise the call, which is valid until `answer` is
 * called later. */
struct gate_call *gate_start(struct gate *g, const struct gate_request *request);
/* Cancel a call: `answer` is not called. */
void gate_cancel(struct gate_call *call);
