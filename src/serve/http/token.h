/* The token file: the callers that may use HTTP. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "api/operation/principal.h"
#include "base/err.h"

enum {
	TOKEN_CHARS_MIN = 16,
	TOKEN_CHARS_MAX = 512,
	TOKEN_HASH_BYTES = 32,
	TOKEN_FILE_BYTES = 1 << 20,
	TOKENS_MAX = 1024,
};

/* A line of the file: NAME TOKEN [sessions=N] [steps=N] [memory=SIZE] [rate=N/min] [paths=yes]
 * [metrics=yes] [tools=yes]. Only the hash of the token is kept. */
struct token_row {
	char name[PRINCIPAL_NAME_BYTES];
	unsigned char hash[TOKEN_HASH_BYTES];
	struct principal_limits limits;
};

/*
 * Parse @text, the whole file; empty lines are skipped, and comments, which begin with # at the
 * start of a word.
 *
 * Owns:    the caller frees *@rows.
 * Limits:  TOKENS_MAX.
 * Source:  RFC 6750, 2.1, for the syntax of a token.
 * Errors:  ERR_USAGE: the message names the line, never the token; also for a file without tokens.
 */
int token_parse(const char *path, const char *text, struct token_row **rows, size_t *n_rows,
	struct err *err);

struct token_list;

/*
 * Read the file at @path. Callers are principals in the context @base.
 * Errors: ERR_ACCESS: other users may read the file; ERR_NOT_FOUND; those of token_parse().
 */
int token_list_open(struct token_list **out, const char *path, const struct operation_context *base,
	struct err *err);

/* Read the file again. A caller that keeps its name remains the same principal, with its new
 * limits. On failure the list is unchanged. */
int token_list_reload(struct token_list *list, struct err *err);

/*
 * Find the caller with the header "Authorization: @value" ("Bearer …"), in the same time for every
 * token.
 * Returns: the context for operations, valid until the list is closed; NULL: unknown token.
 */
const struct operation_context *token_find(const struct token_list *list, const char *value);

/* Free the list. To be called after the registry was closed. */
void token_list_close(struct token_list *list);
