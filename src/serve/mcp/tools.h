/* The tools and resources that retort serves over the Model Context Protocol.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

enum mcp_tier { MCP_TIER_MINIMAL, MCP_TIER_STANDARD, MCP_TIER_ALL };
#define MCP_TIER_CHOICES "minimal|standard|all"

/* Limits of the texts that a model reads with every request. MCP_TOOLS_TOKENS_MAX limits the list
 * of all tools, in tokens, except those for commands, which MCP_COMMANDS_TOKENS_MAX limits.
 * MCP_TOKEN_BYTES of compact JSON count as one token. MCP_INSTRUCTIONS_MAX
 * limits the instructions of the MCP server, in bytes, without the text about this engine. */
enum {
	MCP_TOOLS_TOKENS_MAX = 1500,
	MCP_COMMANDS_TOKENS_MAX = 500,
	MCP_TOKEN_BYTES = 4,
	MCP_INSTRUCTIONS_MAX = 600
};

/*
 * Limits, in bytes, of what a model is told about this engine: the packages in its boxes, the files
 * in its boxes, and the limits of its boxes.
 * - In the instructions of the MCP server, the packages and the files get MCP_TOLD_MAX / 2 each,
 *   and the limits get MCP_TOLD_MAX / 4.
 * - In the description of the tool run_code, the packages and the files get MCP_TOLD_SHORT_MAX
 *   each.
 */
enum { MCP_TOLD_MAX = 1200, MCP_TOLD_SHORT_MAX = 100 };

/* The configuration of the tools. Owns: all pointers are borrowed and must outlive the tools. */
struct mcp_tools_config {
	const char *version;
	enum mcp_tier tier;
	bool is_structured;  /* results also have the member structuredContent */
	bool is_destructive; /* boxes may change files of the host */
	bool has_tools;	     /* code in boxes can call tools, so search_tools is served */
	/* Plans can call the engine's tools, so check_plan and run_plan are served. */
	bool has_plans;
	bool has_commands;  /* run_command and process_output are served */
	const char *policy; /* the policy for plans, as text; or NULL */
	/* Packages in the boxes, such as "numpy 1.24.2, …"; NULL if unknown. */
	const char *packages;
	/* The workspace and volumes of the boxes, and the first names in each, as text from
	 * box_summary_files(); or NULL. */
	const char *files;
	const char *net;      /* network rules of the boxes, such as "api.example"; or NULL */
	const json_t *hosts;  /* hosts that boxes can read from, box_summary_hosts(); or NULL */
	const char *limits;   /* limits of the boxes, such as "1.0 GiB of memory, …"; or NULL */
	const json_t *create; /* parameters of session.create for new sessions; or NULL */
	void *arg;
	/* Returns whether the engine runs already; NULL if it always does. */
	bool (*is_open)(void *arg);
};

struct mcp_tools;

/* Create the tools. Owns: the caller ends them with mcp_tools_free(). */
struct mcp_tools *mcp_tools_new(const struct mcp_tools_config *config);
/* Free the tools. To be called after mcp_server_free(). */
void mcp_tools_free(struct mcp_tools *t);

/* Return the configuration for mcp_server_new(). It is valid until mcp_tools_free(). */
const struct mcp_config *mcp_tools_served(const struct mcp_tools *t);

/* Return the configuration that was given to mcp_tools_new(). */
const struct mcp_tools_config *mcp_tools_config(const struct mcp_tools *t);
/* mcp_tools_has_files() returns whether new sessions have files of the host; mcp_tools_is_open()
 * returns whether the engine runs already. */
bool mcp_tools_has_files(const struct mcp_tools *t);
bool mcp_tools_is_open(const struct mcp_tools *t);
