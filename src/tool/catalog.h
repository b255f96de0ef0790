/* The tools of all servers, by name. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "tool/identifier.h"
#include "tool/servers.h"
#include "tool/mcp_client.h"

enum { CATALOG_TEXT_BYTES = 2048, CATALOG_NAME_BYTES = 128 };

/* What a server says of a tool, valid until its list is read again. Texts are without control
 * characters, and none is to be believed. */
struct catalog_tool {
	const char *name;	/* "server.tool" */
	const char *tool;	/* as the server knows it */
	const char *id, *js_id; /* as Python and JavaScript do */
	const char *text;	/* or "" */
	const json_t *schema;	/* an object */
	const json_t *output;	/* an object, or NULL */
	const struct catalog_server *server;
	bool is_read_only;		    /* as it says; without a word, it is not */
	bool is_destructive, is_open_world; /* they are, unless a trusted server says otherwise */
};

struct catalog_server {
	const struct tool_server *config;
	char id[IDENTIFIER_BYTES], js_id[IDENTIFIER_BYTES];
	const struct catalog_tool *tool; /* sorted by name */
	size_t n_tools;
	bool is_known;	/* asked, and answered */
	struct err err; /* why it is not known, or what was left out */
	int n_left_out; /* tools that are none */
};

struct catalog;

struct catalog_config {
	uv_loop_t *loop;
	const struct tool_servers *servers; /* outlive it */
	void *arg;
	/* As of struct mcp_client_config; may be NULL. */
	json_t *(*ask)(void *arg, const struct tool_server *server, const json_t *params);
	void (*on_progress)(void *arg, const struct tool_server *server, const json_t *params);
};

/* Nothing is started. Owns: the caller, until catalog_close(). */
struct catalog *catalog_new(const struct catalog_config *config);

/* Nobody is called any more. Memory goes when the loop has closed all handles. */
void catalog_close(struct catalog *r);

/* In the order of the configuration. */
const struct catalog_server *catalog_servers(const struct catalog *r, size_t *n);

/*
 * Ask the server called @server, or with NULL all, for their tools if they are not known. A server
 * that says that its tools changed is not known any more. @done is called once, later, and may do
 * anything, catalog_close() too; what failed is in the servers.
 */
int catalog_load(
	struct catalog *r, const char *server, void (*done)(void *arg), void *arg, struct err *err);

/*
 * A tool by its name, or by those of Python: server.tool, server.toolName as server.tool_name.
 * Returns: NULL when there is none among those that are known and allowed.
 */
const struct catalog_tool *catalog_find(const struct catalog *r, const char *name);

/* The server that "server.tool" can be of. Returns: NULL when there is none. */
const struct catalog_server *catalog_server_of(const struct catalog *r, const char *name);

enum catalog_end {
	CATALOG_VALUE,
	CATALOG_TOOL_ERROR, /* the tool, or its server, says that it failed, or its answer is none
			     */
	CATALOG_LOST,	    /* no answer comes */
};

/* Borrowed. */
struct catalog_answer {
	enum catalog_end end;
	const json_t *value;  /* see result_read(); of an error its text, or NULL */
	const json_t *result; /* as the server sent it, or NULL */
	struct err err;	      /* when it is no CATALOG_VALUE */
	bool is_unsent;	      /* CATALOG_LOST: the server never got the call */
};

struct catalog_call;
struct catalog_waiter {
	void (*done)(void *arg, const struct catalog_answer *answer);
	void *arg;
};

/*
 * Call a tool. Whether it may be called is asked elsewhere.
 * Owns:    *@out (which may be NULL) is valid until done(), or catalog_cancel().
 * Returns: 0: its done() will be called once, later; -EINVAL: @arguments do not fit; others.
 */
int catalog_call(struct catalog *r, const struct catalog_tool *tool, const json_t *arguments,
	const struct catalog_waiter *waiter, struct catalog_call **out, struct err *err);

/* Give it up; nobody is called. The server is told. */
void catalog_cancel(struct catalog_call *call);

/* Append @text without what a terminal obeys and what no reader sees, until @out is full. */
void catalog_clean(struct buf *out, const char *text, size_t bytes);
