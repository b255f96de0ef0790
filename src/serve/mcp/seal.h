/* Sealed texts, which a client keeps for us but cannot forge; and ids that cannot be guessed.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

enum { MCP_SEAL_KEY_BYTES = 32, MCP_ID_BYTES = 33, MCP_SEAL_SECONDS = 3600 };

struct mcp_seal {
	unsigned char key[MCP_SEAL_KEY_BYTES];
};

/* Initialize the seal with a new random key. */
void mcp_seal_init(struct mcp_seal *seal);

/*
 * Seal @state as a text. It is valid for MCP_SEAL_SECONDS, only for @principal (may be NULL), and
 * only for a request with the same @bound_to, which is [method, name, arguments]. The client can
 * read the text, but cannot change it.
 * Owns:    the caller frees.
 * Returns: NULL if memory is exhausted.
 */
char *mcp_seal_write(const struct mcp_seal *seal, const json_t *state, const char *principal,
	const json_t *bound_to);

/* Check a sealed text and return its state. Owns: the caller decrefs. Returns: NULL if the text is
 * forged or expired, or was sealed for another principal or request. */
json_t *mcp_seal_read(const struct mcp_seal *seal, const char *text, const char *principal,
	const json_t *bound_to);

/* Make a new id: 128 random bits as hexadecimal digits. */
void mcp_id_make(char out[MCP_ID_BYTES]);
