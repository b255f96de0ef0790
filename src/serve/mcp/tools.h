/* The tools and resources that retort serves over the Model Context Protocol.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

enum mcp_tier { MCP_TIER_MINIMAL, MCP_TIER_STANDARD, MCP_TIER_ALL };
#define MCP_TIER_CHOICES "minimal|standard|all"

/* Limits of the whole list of tools, which a model reads with every request; a token is estimated
 * as four bytes of compact JSON. */
enum { MCP_TOOLS_TOKENS_MAX = 1500, MCP_TOKEN_BYTES = 4, MCP_INSTRUCTIONS_MAX = 600 };

/* Limits of the text about this engine: in the instructions, and in run_code. */
enum { MCP_TOLD_MAX = 1200, MCP_TOLD_SHORT_MAX = 100 };

/* The configuration of the tools. Borrowed; outlives the tools. */
struct mcp_tools_config {
	const char *version;
	enum mcp_tier tier;
	bool is_structured;   /* send results also as structuredContent */
	bool is_destructive;  /* boxes may write to files of the host */
	bool has_tools;	      /* code in boxes can call tools: serve search_tools */
	bool has_plans;	      /* serve check_plan and run_plan, with the engine's tools */
	const char *policy;   /* the policy of plans, as text; or NULL */
	const char *packages; /* packages in the boxes: "numpy 1.24.2, …"; or NULL: unknown */
	const char *files;    /* files in the boxes, by box_summary_files(); or NULL */
	const char *limits;   /* limits of the boxes: "1.0 GiB of memory, …"; or NULL */
	const json_t *create; /* parameters of session.create for new sessions; or NULL */
	void *arg;
	bool (*is_open)(void *arg); /* is the engine already running? NULL: it is */
};

struct mcp_tools;

/* Create the tools. Owns: the caller ends it with mcp_tools_free(). */
struct mcp_tools *mcp_tools_new(const struct mcp_tools_config *config);
/* To be called after mcp_server_free(). */
void mcp_tools_free(struct mcp_tools *t);

/* Return the config for mcp_server_new(); valid as long as @t. */
const struct mcp_config *mcp_tools_served(const struct mcp_tools *t);

/* Return the config, for the implementations of the tools. */
const struct mcp_tools_config *mcp_tools_config(const struct mcp_tools *t);
/* Do new sessions have files of the host? */
bool mcp_tools_has_files(const struct mcp_tools *t);
bool mcp_tools_is_open(const struct mcp_tools *t);
