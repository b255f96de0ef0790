/* The configuration of tool servers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/schema.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SERVERS_MAX = 64,
	SERVERS_FILE_BYTES = 1 << 20,
	SERVER_NAME_BYTES = 64,
	SERVER_TEXT_BYTES = 64 << 10, /* maximum of one text after expansion */
	SERVER_LIST_MAX = 256, /* maximal number of arguments, variables, headers, patterns */
	SERVER_TIMEOUT_MS = 60000,
	SERVER_CALLS_PER_MINUTE = 6000,
};

/* The era of the protocol to use. */
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
	struct server_texts args; /* without the command itself */
	struct server_pairs env;
	const char *url, *cwd; /* cwd NULL: our working directory */
	struct server_pairs headers;
	uint64_t timeout_ms; /* limit of a call without progress */
	enum server_protocol protocol;
	struct server_texts allow, deny; /* globs for tool names; an empty `allow` allows all */
	struct server_texts approve,
		approve_tainted; /* globs for tools that need no approval, see approval.h */
	uint64_t per_minute;	 /* limit for calls from all boxes together */
	bool is_trusted;	 /* the server's hints and results are trusted */
};

struct tool_servers {
	struct tool_server *server; /* in the order of the file */
	size_t n;
	struct tool_shelf shelf;
};

/* Look up a variable of the environment; NULL: unset. */
typedef const char *servers_env(const char *name);

/*
 * Read a configuration: {"mcpServers": {…}}, {"servers": {…}}, or TOML with [mcp_servers.NAME].
 *
 * Shape: ${VAR}, ${VAR:-default} and ${env:VAR} are expanded in every text of a server.
 * Limits: SERVERS_MAX and the other constants above.
 * Owns: servers_done(). @text is only borrowed during the call.
 * Returns: 0; -EINVAL with @name and the place of the mistake; -E2BIG; -ENOMEM.
 */
int servers_read(struct tool_servers *out, const char *text, size_t bytes, const char *name,
	servers_env *env, struct err *err);
void servers_done(struct tool_servers *s);

/* Read the configuration file @path. Errors: also ERR_ACCESS, ERR_NOT_FOUND, ERR_IO. */
int servers_load(struct tool_servers *out, const char *path, servers_env *env, struct err *err);

/* Does @pattern match all of @text ("*": any bytes, "?": one byte)? Does one of the patterns? */
bool servers_glob(const char *pattern, const char *text);
bool servers_is_among(const struct server_texts *patterns, const char *name);

/* May the tool @name be used? `deny` has precedence over `allow`. */
bool servers_allows(const struct tool_server *s, const char *name);
