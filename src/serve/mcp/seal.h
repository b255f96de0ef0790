/* What a client keeps for us and cannot change: sealed text; and ids nobody can guess.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

enum { MCP_SEAL_KEY_BYTES = 32, MCP_ID_BYTES = 33, MCP_SEAL_SECONDS = 3600 };

struct mcp_seal {
	unsigned char key[MCP_SEAL_KEY_BYTES];
};

/* With a key of its own. */
void mcp_seal_init(struct mcp_seal *seal);

/*
 * @state as text, good for MCP_SEAL_SECONDS, for this @principal (or NULL) and for a request that
 * is
 * @bound_to: the same method, name and arguments.
 * Owns: the caller frees. Returns: NULL without memory.
 */
char *mcp_seal_write(const struct mcp_seal *seal, const json_t *state, const char *principal,
	const json_t *bound_to);

/* Owns: the caller decrefs. Returns: NULL when it is not that, or not any more. */
json_t *mcp_seal_read(const struct mcp_seal *seal, const char *text, const char *principal,
	const json_t *bound_to);

/* 128 bits as hexadecimal digits. */
void mcp_id_make(char out[MCP_ID_BYTES]);
