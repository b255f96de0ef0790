/* The one gate: every call that code in a box makes of the outside goes through it, and so does
 * tool.call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "session/tool_call.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct gate;
struct gate_call; /* one under way */

/* What tool.list asks the gate: {"query"?, "limit"?} → {"tools", "servers"}. */
#define GATE_LIST_ALL "retort.list"

enum {
	GATE_ID_BYTES = 32,
	GATE_SESSION_BYTES = 80,
	GATE_LIST_MAX = 2000,	      /* tools that are listed at once */
	GATE_LIST_MS = 10000,	      /* to wait for servers that are asked what they have */
	GATE_CALLS_PER_MINUTE = 3000, /* of one session; a server's own limit is in its file */
};

/* What is said of a call when it is over, without what was sent and answered. Borrowed. */
struct gate_line {
	const char *session, *owner, *name; /* owner "" is who runs the engine */
	const char *end;		    /* "ok", or the name of its error */
	uint64_t ms, bytes_in, bytes_out;
};

struct gate_config {
	uv_loop_t *loop;
	const char *path; /* lists servers of tools, as docs/tools.md says; NULL: there are none */
	void *arg;
	bool (*may_use_tools)(void *arg, const char *owner);
	/* Skills that answer @query, as skills_find() has them; or NULL. */
	json_t *(*find_skills)(void *arg, const char *query);
	void (*log)(void *arg, const struct gate_line *line); /* or NULL */
	void *log_arg;
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

/* ---- who stands by a session ---- */

/*
 * Hears what calls of a session ask, and answers those that are not for a tool. It stays where it
 * is until gate_detach(). Of several that a session has, the newest that takes a call has it. What
 * it does not do is NULL.
 */
struct gate_handler {
	void *arg;
	/* May @call be called? gate_approve() says so later. Returns: false: nobody here knows. */
	bool (*ask)(void *arg, struct gate_call *call);
	/* What was asked about @call is decided, or does not matter any more. */
	void (*asked)(void *arg, const struct gate_call *call, bool is_allowed);
	/* A call of a name as "retort.llm_query", which no tool has. Returns: true: gate_answer()
	 * follows once, possibly before this returns; false: it is another's. */
	bool (*call)(void *arg, struct gate_call *call);
	/* A call that was taken is given up: it is gone when this returns. */
	void (*cancel)(void *arg, struct gate_call *call);

	/* The gate's own. */
	struct gate *gate;
	char session[GATE_SESSION_BYTES];
	struct gate_handler *next, **link;
};
/* @session: "" stands by all of them. */
void gate_attach(struct gate *g, const char *session, struct gate_handler *handler);
/* What it has not answered is refused. One that is attached nowhere is nothing. */
void gate_detach(struct gate_handler *handler);

/* Borrowed. The arguments are an object. */
const char *gate_call_name(const struct gate_call *call);
const char *gate_call_owner(const struct gate_call *call);
/* The session has read what others wrote. */
bool gate_call_is_tainted(const struct gate_call *call);
const json_t *gate_call_arguments(const struct gate_call *call);

/*
 * @answer: {"value": any} or tool_call_error(), whose reference is taken; NULL stands for no
 * memory. The call is gone then.
 */
void gate_answer(struct gate_call *call, json_t *answer);

/* {"approval": id, "session", "tool", "text", "destructive", "tainted"}: what is asked about a
 * call; texts are safe to show. Owns: the caller. Returns: NULL without memory. */
json_t *gate_question(const struct gate_call *call);

/* The call that asks under this id. Returns: NULL when there is none, or it is decided. */
struct gate_call *gate_asking(struct gate *g, const char *approval);
const char *gate_call_session(const struct gate_call *call);
const char *gate_call_approval(const struct gate_call *call);
/* The call goes on, or is refused; it may be gone then. */
void gate_approve(struct gate_call *call, bool is_allowed);

/* ---- calls ---- */

/* Texts are copied. */
struct gate_request {
	const char *session, *owner, *name; /* session "": of none */
	const json_t *arguments;	    /* an object */
	const bool *is_tainted; /* looked at when it is decided; NULL: who calls has read nothing */
	bool is_approved;	/* whatever the tool may do */
	bool is_trial;		/* nothing may be changed: it may not be kept */
	void *arg;
	/* Once: {"value"} or {"error"}, whose reference is taken. @is_untrusted: others wrote it.
	 */
	void (*answer)(void *arg, json_t *answer, bool is_untrusted);
};

/* Returns: the call, until it is answered; NULL: it was. */
struct gate_call *gate_start(struct gate *g, const struct gate_request *request);
/* Nobody waits any more: it is not answered. */
void gate_cancel(struct gate_call *call);
