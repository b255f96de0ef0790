/* The catalog: all tools of the configured servers, by name. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "tool/identifier.h"
#include "tool/servers.h"
#include "tool/mcp_client.h"

enum { CATALOG_TEXT_BYTES = 2048, CATALOG_NAME_BYTES = 128 };

/* A tool as its server describes it, valid until the list is read again. Texts contain no
 * control characters, but are untrusted. */
struct catalog_tool {
	const char *name;	/* "server.tool" */
	const char *tool;	/* name of the tool at the server */
	const char *id, *js_id; /* identifier in Python, in JavaScript */
	const char *text;	/* description, or "" */
	const json_t *schema;	/* input schema, an object */
	const json_t *output;	/* output schema, an object, or NULL */
	const struct catalog_server *server;
	bool is_read_only;		    /* readOnlyHint of the server; default: false */
	bool is_destructive, is_open_world; /* true, unless a trusted server denies it */
};

struct catalog_server {
	const struct tool_server *config;
	char id[IDENTIFIER_BYTES], js_id[IDENTIFIER_BYTES];
	const struct catalog_tool *tool; /* sorted by name */
	size_t n_tools;
	bool is_known;	/* the list of tools was received, and is current */
	struct err err; /* failure to get the list; unset when it is known */
	int n_left_out; /* number of unusable tools in the list */
};

struct catalog;

struct catalog_config {
	uv_loop_t *loop;
	const struct tool_servers *servers; /* outlives the catalog */
	void *arg;
	/* Callbacks as in struct mcp_client_config; both may be NULL. */
	json_t *(*ask)(void *arg, const struct tool_server *server, const json_t *params);
	void (*on_progress)(void *arg, const struct tool_server *server, const json_t *params);
};

/* Create a catalog; no server is started yet. Owns: the caller, until catalog_close(). */
struct catalog *catalog_new(const struct catalog_config *config);

/* Close the catalog. No callback is called any more. The memory is freed when the loop has
 * closed all handles. */
void catalog_close(struct catalog *r);

/* Return the servers in the order of the configuration. */
const struct catalog_server *catalog_servers(const struct catalog *r, size_t *n);

/* Load the tools of the server called @server, or of all servers (NULL), unless they are known.
 * The tools of a server become unknown when the server notifies us of a change. @done is called
 * once, from the loop, and may do anything, even catalog_close(). Failures are recorded in the
 * servers. */
int catalog_load(
	struct catalog *r, const char *server, void (*done)(void *arg), void *arg, struct err *err);

/*
 * Find a tool by its name, or by its name in Python: server.tool, or server.tool_name for
 * server.toolName.
 * Returns: NULL when no tool that is known and allowed has that name.
 */
const struct catalog_tool *catalog_find(const struct catalog *r, const char *name);

/* Find the server of a tool name "server.tool". Returns: NULL when no server matches. */
const struct catalog_server *catalog_server_of(const struct catalog *r, const char *name);

enum catalog_end {
	CATALOG_VALUE,
	CATALOG_TOOL_ERROR, /* the tool or its server reports an error, or the result breaks its
			       outputSchema */
	CATALOG_LOST,	    /* no usable response arrives */
};

/* The outcome of a call. Borrowed. */
struct catalog_answer {
	enum catalog_end end;
	const json_t *value;  /* value by result_read(); for a tool's error its text, or NULL */
	const json_t *result; /* the result as the server sent it, or NULL */
	struct err err;	      /* error, unless end is CATALOG_VALUE */
	bool is_unsent;	      /* CATALOG_LOST: the call was never sent to the server */
};

struct catalog_call;
struct catalog_waiter {
	void (*done)(void *arg, const struct catalog_answer *answer);
	void *arg;
};

/*
 * Call a tool. The caller has checked that the call is permitted.
 * Owns: *@out (@out may be NULL) is valid until done() or catalog_cancel().
 * Returns: 0: done() will be called once, from the loop; -EINVAL: @arguments do not match the
 * schema; or another negative errno.
 */
int catalog_call(struct catalog *r, const struct catalog_tool *tool, const json_t *arguments,
	const struct catalog_waiter *waiter, struct catalog_call **out, struct err *err);

/* Cancel a call: notify the server, and do not call done(). */
void catalog_cancel(struct catalog_call *call);

/* Append @text without control and invisible characters, until @out is full. */
void catalog_clean(struct buf *out, const char *text, size_t bytes);
