/* Tools of MCP servers for who waits for each call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/provider.h"
#include "tool/servers.h"

#include <uv.h>

struct mcp_provider;

/* Borrowed; all but `texts` outlive the provider. */
struct mcp_provider_config {
	uv_loop_t *loop; /* of this thread: waiting runs it */
	const struct tool_servers *servers;
	const char *const *texts; /* plan and policy; NULL is none */
	size_t n_texts;		  /* 0: all servers are named */
	const bool *is_given_up; /* set by a callback of the loop: nothing is waited for any more */
};

/*
 * Start the servers whose name, as a word of a plan, stands in one of the texts, and ask them for
 * their tools. A server that no text names is never started. A tool is called SERVER.TOOL, both as
 * identifier_make() has them.
 *
 * Limits:  PROVIDER_TEXT_BYTES of declarations; a tool of over TOOL_PARAMS_MAX parameters is none.
 * Blocks:  until they have answered, or it is given up.
 * Owns:    mcp_provider_close().
 * Errors:  ERR_UNREACHABLE, ERR_AUTH, ERR_PROTOCOL, ERR_LIMIT: of a server, which is named;
 *          ERR_INTERRUPTED; ERR_NO_MEMORY.
 */
enum { PROVIDER_TEXT_BYTES = 16 << 20 };
int mcp_provider_open(
	struct mcp_provider **out, const struct mcp_provider_config *config, struct err *err);

/* The servers end, and their memory goes, when the loop is run. NULL is nothing. */
void mcp_provider_close(struct mcp_provider *p);

/* What there is, as a file of tools (tool/fixture.h) without answers; and to call it. A result that
 * does not fit what its server declared is a TOOL_ERROR. There is no ask(). */
const char *mcp_provider_text(const struct mcp_provider *p);
const struct tool_provider *mcp_provider_tools(const struct mcp_provider *p);
