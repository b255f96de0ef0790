/* What retort serves over the Model Context Protocol: its tools and resources.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

enum mcp_tier { MCP_TIER_MINIMAL, MCP_TIER_STANDARD, MCP_TIER_ALL };
#define MCP_TIER_CHOICES "minimal|standard|all"

/* A model reads it all with every request: so many, at four bytes of compact JSON each. */
enum { MCP_TOOLS_TOKENS_MAX = 1500, MCP_TOKEN_BYTES = 4, MCP_INSTRUCTIONS_MAX = 600 };

/* Of what is told of this very engine, in bytes: in the instructions, and in run_code. */
enum { MCP_TOLD_MAX = 1200, MCP_TOLD_SHORT_MAX = 100 };

/* Borrowed; outlives the tools. */
struct mcp_tools_config {
	const char *version;
	enum mcp_tier tier;
	bool is_structured;   /* results also as structuredContent */
	bool is_destructive;  /* boxes may write to files of the host */
	bool has_tools;	      /* code in boxes can call some: search_tools */
	bool has_plans;	      /* check_plan and run_plan, with the engine's tools */
	const char *policy;   /* of theirs, as a text; or NULL */
	const char *packages; /* "numpy 1.24.2, …" that boxes have; or NULL: nobody knows */
	const char *files;    /* files that they see, as box_summary_files() has them; or NULL */
	const char *limits;   /* "1.0 GiB of memory, …"; or NULL */
	const json_t *create; /* parameters of session.create for sessions that are made; or NULL */
	void *arg;
	bool (*is_open)(void *arg); /* is there an engine already? NULL: always */
};

struct mcp_tools;

/* Returns: NULL without memory. */
struct mcp_tools *mcp_tools_new(const struct mcp_tools_config *config);
/* After the server. */
void mcp_tools_free(struct mcp_tools *t);

/* For mcp_server_new(); valid as long as @t. */
const struct mcp_config *mcp_tools_served(const struct mcp_tools *t);

/* For those who carry the tools out. */
const struct mcp_tools_config *mcp_tools_config(const struct mcp_tools *t);
/* Do sessions that are made see files of the host? */
bool mcp_tools_has_files(const struct mcp_tools *t);
bool mcp_tools_is_open(const struct mcp_tools *t);
