/* The table of retort's tools, and their handlers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/row/param.h"
#include "serve/mcp/tools.h"

enum { MCP_WAIT_MS = 45000, MCP_WAIT_MAX_MS = 55000, MCP_READ_BYTES = 10000, MCP_FOUND = 10 };
/* MCP_WAIT_SHORT_MS: how long the tools for commands wait for a process that need not end soon.
 * MCP_COMMAND_LIMIT_MS: default time limit of a command in the foreground. */
enum { MCP_WAIT_SHORT_MS = 1000, MCP_COMMAND_LIMIT_MS = 600000 };

enum {
	MCP_READ_ONLY = 1,
	MCP_IDEMPOTENT = 2,
	MCP_RUNS_CODE = 4,
	MCP_ON_PLANS = 8,
	MCP_WORLD = 16,
	MCP_ON_TOOLS = 32,
	MCP_ON_COMMANDS = 64
};

struct mcp_tool {
	const char *name, *title, *description;
	const struct param *params;
	size_t n_params;
	enum mcp_tier tier; /* the smallest tier that contains the tool */
	unsigned traits;
	mcp_start_fn *start;
};

extern const struct mcp_tool mcp_tool_table[];
extern const size_t mcp_tool_n;

/* Find the row of a tool by its name. Returns: NULL if it does not exist. */
const struct mcp_tool *mcp_tool_find(const char *name);

/* The handlers of the tools, in the order of the table. */
void mcp_run_code(struct mcp_call *call);
void mcp_run_wait(struct mcp_call *call);
void mcp_read_output(struct mcp_call *call);
void mcp_read_file(struct mcp_call *call);
void mcp_write_file(struct mcp_call *call);
void mcp_list_files(struct mcp_call *call);
void mcp_sessions(struct mcp_call *call);
void mcp_search_tools(struct mcp_call *call);
void mcp_run_command(struct mcp_call *call);
void mcp_process_output(struct mcp_call *call);
void mcp_check_plan(struct mcp_call *call);
void mcp_run_plan(struct mcp_call *call);

/* The handlers of resources: one for the list, and one for each resource template. */
void mcp_resource_list(struct mcp_call *call);
void mcp_resource_file(struct mcp_call *call);
void mcp_resource_run(struct mcp_call *call);
