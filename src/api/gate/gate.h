/* The one gate: every call that code in a box makes of the outside goes through it, and so does
 * tool.call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/gate/gate_handler.h"
#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* What tool.list asks the gate: {"query"?, "limit"?} → {"tools", "servers"}. */
#define GATE_LIST_ALL "retort.list"

enum {
	GATE_ID_BYTES = 32,
	GATE_LIST_MAX = 2000,	      /* tools that are listed at once */
	GATE_LIST_MS = 10000,	      /* to wait for servers that are asked what they have */
	GATE_CALLS_PER_MINUTE = 3000, /* of one session; a server's own limit is in its file */
};

/* What is logged of a call when it is over: neither arguments nor answer. Borrowed. */
struct gate_line {
	const char *session, *owner, *name; /* owner "" is who runs the engine */
	const char *end;		    /* "ok", or the name of its error */
	uint64_t ms, bytes_in, bytes_out;
};
struct gate_log {
	void *arg;
	void (*write)(void *arg, const struct gate_line *line); /* NULL: there is none */
};

struct gate_config {
	uv_loop_t *loop;
	const char *path; /* lists servers of tools, see docs/use/tools.md. NULL: no servers */
	void *arg;
	bool (*may_use_tools)(void *arg, const char *owner);
	/* Skills that answer @query, as skills_find() has them; or NULL. */
	json_t *(*find_skills)(void *arg, const char *query);
	struct gate_log log;
};

/*
 * No server is started before it is needed, and each once for all sessions.
 * Owns:    gate_close() and gate_free(), also after an error; *@out is NULL without memory.
 * Errors:  those of servers_load(); ERR_NO_MEMORY.
 */
int gate_open(struct gate **out, const struct gate_config *config, struct err *err);

/* After the registry. Calls that are under way are refused, servers are ended. NULL is nothing. */
void gate_close(struct gate *g);
/* When the loop has closed its handles: servers that are being ended look at what they are. */
void gate_free(struct gate *g);

/* What sessions are opened with. */
struct tool_gate gate_of_sessions(struct gate *g);

/* A session has ended: what is remembered of it goes. */
void gate_forget(struct gate *g, const char *session);

/* Are there servers at all? */
bool gate_has_tools(const struct gate *g);
/* "crm, files": what code calls them, of those that fit into @out. Returns: 0, -ENOMEM. */
int gate_write_servers(const struct gate *g, bool is_javascript, struct buf *out);

/* ---- one call ---- */

/* Texts are copied. */
struct gate_request {
	const char *session, *owner, *name; /* session "": of none */
	const json_t *arguments;	    /* an object */
	const bool *is_tainted; /* read when the call is decided; NULL: the caller is not tainted */
	bool is_approved;	/* whatever the tool may do */
	bool is_trial; /* the step may be discarded, so only tools that read may be called */
	void *arg;
	/* Called once with {"value"} or {"error"}, whose reference it takes. @is_untrusted: others
	 * may have written the answer. */
	void (*answer)(void *arg, json_t *answer, bool is_untrusted);
};

/* Returns: the call, which is valid until it is answered; NULL: it has been answered already. */
struct gate_call *gate_start(struct gate *g, const struct gate_request *request);
/* Give up a call: it is not answered. */
void gate_cancel(struct gate_call *call);
