/* Sealed text, which a client stores for us and cannot change; and unguessable ids.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

enum { MCP_SEAL_KEY_BYTES = 32, MCP_ID_BYTES = 33, MCP_SEAL_SECONDS = 3600 };

struct mcp_seal {
	unsigned char key[MCP_SEAL_KEY_BYTES];
};

/* Initialize with a new random key. */
void mcp_seal_init(struct mcp_seal *seal);

/*
 * Seal @state. The text is valid for MCP_SEAL_SECONDS, for @principal (may be NULL), and for a
 * request with the same @bound_to: method, name and arguments.
 * Owns:    the caller frees.
 * Returns: NULL without memory.
 */
char *mcp_seal_write(const struct mcp_seal *seal, const json_t *state, const char *principal,
	const json_t *bound_to);

/* Open a sealed text, and return its state. Owns: the caller decrefs. Returns: NULL if the text is
 * forged, expired, or sealed for another principal or request. */
json_t *mcp_seal_read(const struct mcp_seal *seal, const char *text, const char *principal,
	const json_t *bound_to);

/* Write a new id: 128 random bits as hexadecimal digits. */
void mcp_id_make(char out[MCP_ID_BYTES]);
