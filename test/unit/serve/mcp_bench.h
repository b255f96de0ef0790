/* A server of the Model Context Protocol with tools of all kinds, and what it said.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"
#include "serve/mcp/call.h"
#include "serve/mcp/peer.h"

#define META_KEY "io.modelcontextprotocol/"
#define MODERN_CAN(can)                                                                            \
	"\"_meta\":{\"" META_KEY "protocolVersion\":\"2026-07-28\",\"" META_KEY                    \
	"clientCapabilities\":" can "}"
#define MODERN MODERN_CAN("{}")
#define REQUEST(id, method, params)                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define INITIALIZE(version, can)                                                                   \
	REQUEST("0", "initialize",                                                                 \
		"{\"protocolVersion\":\"" version "\",\"capabilities\":" can                       \
		",\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}")

enum { KEPT_MAX = 128 };

struct mcp_bench {
	struct mcp_config config;
	struct mcp_row tools[6], resources[1], templates[1], prompts[1];
	json_t *definitions[9];
	struct mcp_server *server;
	struct mcp_peer *peer;
	json_t *said; /* every message, in order */
	int n_last;
	struct mcp_call *kept[KEPT_MAX]; /* of "keep": under way */
	unsigned n_kept, n_cancelled;
};

/* With the tools echo, keep, progress, ask and fail; a resource, a template and a prompt; all that
 * is sent goes to `said`. */
void mcp_bench_open(struct mcp_bench *b);
void mcp_bench_done(struct mcp_bench *b);
#define MCP_BENCH cleanup(mcp_bench_done) struct mcp_bench

/* Have the peer receive a message. Returns: how many answers there will be. */
unsigned mcp_bench_say(struct mcp_bench *b, const char *text, size_t bytes);

/* The oldest that is kept is answered. */
void mcp_bench_release(struct mcp_bench *b);
