/* The catalog: the tools of all configured servers, found by name. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "tool/identifier.h"
#include "tool/servers.h"
#include "tool/mcp_client.h"

enum { CATALOG_TEXT_BYTES = 2048, CATALOG_NAME_BYTES = 128 };

/* A tool as its server describes it. It is valid until the server's list is read again. Its texts
 * are untrusted, but contain no control characters. */
struct catalog_tool {
	const char *name; /* "server.tool" */
	const char *tool; /* the tool's name at its server */
	/* The member `tool` as an identifier. id: for Python. js_id: for JavaScript. */
	const char *id, *js_id;
	const char *text;     /* description, or "" */
	const json_t *schema; /* input schema; always an object */
	const json_t *output; /* output schema, an object; or NULL */
	const json_t *meta;   /* the server's "_meta", anything; or NULL */
	const struct catalog_server *server;
	bool is_read_only; /* the server's readOnlyHint; false if missing */
	/* True unless a trusted server's hints say otherwise. */
	bool is_destructive, is_open_world;
};

struct catalog_server {
	const struct tool_server *config;
	char id[IDENTIFIER_BYTES], js_id[IDENTIFIER_BYTES];
	const struct catalog_tool *tool; /* sorted by name */
	size_t n_tools;
	bool is_known;	/* the list of tools was received and has not changed since */
	struct err err; /* why the list could not be received; unset if the list is known */
	int n_left_out; /* number of tools in the list that cannot be used */
};

struct catalog;

struct catalog_config {
	uv_loop_t *loop;
	const struct tool_servers *servers; /* outlives the catalog */
	void *arg;
	/* Asks the user a question of the server (elicitation). May be NULL. Returns: {"action",
	 * "content"}, which the caller of the hook decrefs; NULL if the user declines. */
	json_t *(*ask)(void *arg, const struct tool_server *server, const json_t *params);
	/* Receives the parameters of a progress notification of the server. May be NULL. */
	void (*on_progress)(void *arg, const struct tool_server *server, const json_t *params);
};

/* Create a catalog. It starts no server yet. Owns: the caller ends it with catalog_close(). */
struct catalog *catalog_new(const struct catalog_config *config);

/* Close the catalog. No callback is called afterwards. The memory of its clients is freed when the
 * loop has closed their handles. */
void catalog_close(struct catalog *r);

/* Return all servers, in the order of the configuration. */
const struct catalog_server *catalog_servers(const struct catalog *r, size_t *n);

/* Load the list of tools of the server @server, or of all servers if @server is NULL. A list that
 * is known is not loaded again, until its server notifies us of a change. @done is called once,
 * from the loop, when each list has been received or has failed. @done may call any function, even
 * catalog_close(). A failure is recorded in `err` of the server. */
int catalog_load(
	struct catalog *r, const char *server, void (*done)(void *arg), void *arg, struct err *err);

/*
 * Find a tool by its name "server.tool". The first part is the configured name of the server, or
 * its identifier. The second part is the name of the tool at its server, or its identifier in
 * Python, which may also be written in snake case: "server.read_file" finds "server.readFile".
 * Returns: NULL if no known and allowed tool has that name.
 */
const struct catalog_tool *catalog_find(const struct catalog *r, const char *name);

/* Find the server that the tool name "server.tool" begins with. Returns: NULL if no server has that
 * name. */
const struct catalog_server *catalog_server_of(const struct catalog *r, const char *name);

enum catalog_end {
	CATALOG_VALUE,
	/* The tool or its server reports an error, or the result does not match its
	 * outputSchema. */
	CATALOG_TOOL_ERROR,
	CATALOG_LOST, /* no usable response arrived */
};

/* The outcome of a call. All pointers are borrowed. */
struct catalog_answer {
	enum catalog_end end;
	/* For CATALOG_VALUE, the value that result_read() made; for CATALOG_TOOL_ERROR, the tool's
	 * message as text, or NULL. */
	const json_t *value;
	const json_t *result; /* the result as the server sent it; or NULL */
	struct err err;	      /* why there is no value; unset if `end` is CATALOG_VALUE */
	bool is_unsent;	      /* for CATALOG_LOST: the call was never sent */
};

struct catalog_call;
struct catalog_waiter {
	void (*done)(void *arg, const struct catalog_answer *answer);
	void *arg;
};

/*
 * Call a tool. The caller must have checked that the call is permitted.
 * Owns:    *@out (@out may be NULL) is the call, valid until done() or catalog_cancel().
 * Returns: 0 if done() will be called, once, from the loop; -EINVAL if @arguments do not match the
 *          tool's schema; another negative errno.
 */
int catalog_call(struct catalog *r, const struct catalog_tool *tool, const json_t *arguments,
	const struct catalog_waiter *waiter, struct catalog_call **out, struct err *err);

/* Cancel a call. The server is notified, and done() is not called. */
void catalog_cancel(struct catalog_call *call);

/* Append @text without its control characters and invisible characters. What exceeds the size of
 * @out is dropped. */
void catalog_clean(struct buf *out, const char *text, size_t bytes);
