/* A tool provider for MCP servers whose calls block. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tool/provider.h"
#include "tool/servers.h"

#include <uv.h>

struct mcp_provider;

/* Borrowed; all but `texts` must outlive the provider. */
struct mcp_provider_config {
	uv_loop_t *loop; /* loop of this thread; blocking calls run it */
	const struct tool_servers *servers;
	const char *const *texts; /* plan and policy; NULL elements are skipped */
	size_t n_texts;		  /* 0: all servers are used */
	const bool *is_given_up;  /* set by a callback of the loop: stop waiting */
};

/*
 * Start the servers whose identifiers occur as words in one of the texts, and load their tools. A
 * server that no text names is never started. Tools are called SERVER.TOOL, both by
 * identifier_make().
 *
 * Limits: PROVIDER_TEXT_BYTES of declarations; a tool with over TOOL_PARAMS_MAX parameters is
 * left out.
 * Blocks: until all servers have responded, or *is_given_up is set.
 * Owns: mcp_provider_close().
 * Errors: ERR_UNREACHABLE, ERR_AUTH, ERR_PROTOCOL, ERR_LIMIT, which name the server;
 * ERR_INTERRUPTED; ERR_NO_MEMORY.
 */
enum { PROVIDER_TEXT_BYTES = 16 << 20 };
int mcp_provider_open(
	struct mcp_provider **out, const struct mcp_provider_config *config, struct err *err);

/* Close the provider; NULL is allowed. Run the loop afterwards, so that the servers end and
 * their memory is freed. */
void mcp_provider_close(struct mcp_provider *p);

/* Return the declarations as a file of tools (tool/fixture.h) without "answers"; return the
 * provider that calls the tools. A result that does not fit the outputSchema is a TOOL_ERROR.
 * The provider has no ask(). */
const char *mcp_provider_text(const struct mcp_provider *p);
const struct tool_provider *mcp_provider_tools(const struct mcp_provider *p);
