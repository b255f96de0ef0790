/* The configuration of the MCP servers whose tools can be called. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "tool/schema.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SERVERS_MAX = 64,
	SERVERS_FILE_BYTES = 1 << 20,
	SERVER_NAME_BYTES = 64,
	SERVER_TEXT_BYTES = 64 << 10, /* maximum length of a text after expansion of variables */
	SERVER_LIST_MAX = 256, /* maximum number of arguments, variables, headers or patterns */
	SERVER_TIMEOUT_MS = 60000,
	SERVER_CALLS_PER_MINUTE = 6000,
};

/* Which era of the protocol the client uses. SERVER_AUTO: the client finds out. */
enum server_protocol { SERVER_AUTO, SERVER_LEGACY, SERVER_MODERN };

struct server_pair {
	const char *name, *value;
};
struct server_pairs {
	const struct server_pair *item;
	size_t n;
};
struct server_texts {
	const char *const *item; /* ends with NULL */
	size_t n;
};

/* The configuration of one server. Either `command` or `url` is set. */
struct tool_server {
	const char *name, *command;
	struct server_texts args; /* arguments after the command itself */
	struct server_pairs env;
	/* @cwd is the working directory of the command. If it is NULL, the command inherits
	 * ours. */
	const char *url, *cwd;
	struct server_pairs headers;
	uint64_t timeout_ms; /* time limit of a call that makes no progress */
	enum server_protocol protocol;
	/* Patterns for names of tools; an empty `allow` allows all tools. */
	struct server_texts allow, deny;
	/* Patterns for tools that need no approval: see approval_is_needed(). */
	struct server_texts approve, approve_tainted;
	uint64_t per_minute; /* limit of calls per minute, for all boxes together */
	bool is_trusted;     /* the server's hints, formats and results are trusted */
};

struct tool_servers {
	/* The servers, in the order in which the configuration file lists them. */
	struct tool_server *server;
	size_t n;
	struct tool_shelf shelf;
};

/* Return the value of an environment variable, or NULL if it is unset. */
typedef const char *servers_env(const char *name);

/*
 * Parse a configuration: {"mcpServers": {…}}, {"servers": {…}}, or TOML with [mcp_servers.NAME].
 *
 * Shape:   ${VAR}, ${VAR:-default} and ${env:VAR} are expanded in all texts of a server.
 * Limits:  SERVERS_MAX and the other constants above.
 * Owns:    the caller frees *@out with servers_done(). @text is borrowed for the call only.
 * Returns: 0; -EINVAL with @name and the place of the mistake in @err; -E2BIG; -ENOMEM.
 */
int servers_read(struct tool_servers *out, const char *text, size_t bytes, const char *name,
	servers_env *env, struct err *err);
void servers_done(struct tool_servers *s);

/* Read the configuration file @path. Returns: as servers_read(). Errors: also ERR_ACCESS,
 * ERR_NOT_FOUND and ERR_IO. */
int servers_load(struct tool_servers *out, const char *path, servers_env *env, struct err *err);

/* servers_glob() returns whether @pattern matches all of @text; "*" matches any bytes, "?" one
 * byte. servers_is_among() returns whether one of @patterns matches @name. */
bool servers_glob(const char *pattern, const char *text);
bool servers_is_among(const struct server_texts *patterns, const char *name);

/* Return whether the tool @name may be used. `deny` overrides `allow`. */
bool servers_allows(const struct tool_server *s, const char *name);
