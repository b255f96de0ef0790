/* Which servers of tools there are: what their configuration says. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "tool/schema.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SERVERS_MAX = 64,
	SERVERS_FILE_BYTES = 1 << 20,
	SERVER_NAME_BYTES = 64,
	SERVER_TEXT_BYTES = 64 << 10, /* one text, after expansion */
	SERVER_LIST_MAX = 256,	      /* arguments, variables, headers, patterns */
	SERVER_TIMEOUT_MS = 60000,
	SERVER_CALLS_PER_MINUTE = 6000,
};

/* Which revisions of the protocol to speak. */
enum server_protocol { SERVER_AUTO, SERVER_LEGACY, SERVER_MODERN };

struct server_pair {
	const char *name, *value;
};
struct server_pairs {
	const struct server_pair *item;
	size_t n;
};
struct server_texts {
	const char *const *item; /* NULL at the end */
	size_t n;
};

/* One of `command` and `url` is set. */
struct tool_server {
	const char *name, *command;
	struct server_texts args; /* without the command */
	struct server_pairs env;
	const char *url, *cwd; /* cwd NULL: ours */
	struct server_pairs headers;
	uint64_t timeout_ms; /* of a call without news of it */
	enum server_protocol protocol;
	struct server_texts allow, deny; /* of tools, as globs; none to allow: all */
	struct server_texts approve,
		approve_tainted; /* likewise: nobody is asked; see approval.h */
	uint64_t per_minute;	 /* calls of code in boxes, of all together */
	bool is_trusted;	 /* its hints are believed, and what it answers */
};

struct tool_servers {
	struct tool_server *server; /* in the order of the file */
	size_t n;
	struct tool_shelf shelf;
};

/* A variable of the environment, or NULL. */
typedef const char *servers_env(const char *name);

/*
 * Read a configuration: {"mcpServers": {…}}, {"servers": {…}}, or TOML with [mcp_servers.NAME].
 *
 * Shape:   ${VAR}, ${VAR:-default} and ${env:VAR} are replaced in every text of a server.
 * Limits:  SERVERS_MAX and the other constants above.
 * Owns:    servers_done(). Nothing of @text is kept.
 * Returns: 0, or -EINVAL with @name and the place of what is wrong, -E2BIG, -ENOMEM.
 */
int servers_read(struct tool_servers *out, const char *text, size_t bytes, const char *name,
	servers_env *env, struct err *err);
void servers_done(struct tool_servers *s);

/* The same of the file at @path. Errors: also ERR_ACCESS, ERR_NOT_FOUND, ERR_IO. */
int servers_load(struct tool_servers *out, const char *path, servers_env *env, struct err *err);

/* Does @pattern match all of @text? "*" stands for any bytes, "?" for one. Does one of many? */
bool servers_glob(const char *pattern, const char *text);
bool servers_is_among(const struct server_texts *patterns, const char *name);

/* May the tool called @name be used at all? A pattern of `deny` wins. */
bool servers_allows(const struct tool_server *s, const char *name);
