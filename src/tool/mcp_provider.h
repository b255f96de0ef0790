/* A tool provider that calls tools of MCP servers. Its calls block. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "tool/provider.h"
#include "tool/servers.h"

#include <uv.h>

struct mcp_provider;

/* The configuration. All pointers are borrowed, and all except `texts` must outlive the
 * provider. */
struct mcp_provider_config {
	uv_loop_t *loop; /* this thread's loop, which runs during a call */
	const struct tool_servers *servers;
	const char *const *texts; /* the plan and the policy; NULL elements are ignored */
	size_t n_texts;		  /* if 0, all servers are started */
	const bool *is_given_up;  /* if a callback of the loop sets this flag, waiting ends */
};

/*
 * Start the servers that are named in a text, and load their tools. A server is named if its
 * identifier is a word of the text. Other servers are not started. The tools are called
 * SERVER.TOOL, where both parts are made by identifier_make().
 *
 * Limits:  PROVIDER_TEXT_BYTES of declarations. A tool with more than TOOL_PARAMS_MAX parameters is
 *          left out.
 * Blocks:  until all servers have responded, or *is_given_up is set.
 * Owns:    the caller closes *@out with mcp_provider_close().
 * Errors:  ERR_UNREACHABLE, ERR_AUTH, ERR_PROTOCOL and ERR_LIMIT, with the name of the server;
 *          ERR_INTERRUPTED; ERR_NO_MEMORY.
 */
enum { PROVIDER_TEXT_BYTES = 16 << 20 };
int mcp_provider_open(
	struct mcp_provider **out, const struct mcp_provider_config *config, struct err *err);

/* Close the provider, which may be NULL. Run the loop afterwards, so that the servers end and their
 * memory is freed. */
void mcp_provider_close(struct mcp_provider *p);

/* mcp_provider_text() returns the declarations of the tools, as a file of tools (tool/fixture.h)
 * without "answers". mcp_provider_tools() returns the provider that calls them. A result that does
 * not fit its outputSchema becomes a TOOL_ERROR. The provider has no ask(). */
const char *mcp_provider_text(const struct mcp_provider *p);
const struct tool_provider *mcp_provider_tools(const struct mcp_provider *p);
