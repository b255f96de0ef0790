/* The token file, which lists the callers that may use HTTP. SPDX-License-Identifier: Apache-2.0 */
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

/* One line of the file: NAME TOKEN [sessions=N] [steps=N] [memory=SIZE] [rate=N/min] [disk=SIZE]
 * [paths=yes] [net=public|any] [metrics=yes] [tools=yes]. Only a hash of the token is kept. */
struct token_row {
	char name[PRINCIPAL_NAME_BYTES];
	unsigned char hash[TOKEN_HASH_BYTES];
	struct principal_limits limits;
};

/*
 * Parse @text, the content of the whole file. Empty lines are skipped. A word that begins with "#"
 * starts a comment.
 *
 * Owns:    the caller frees *@rows.
 * Limits:  TOKENS_MAX.
 * Source:  RFC 6750, 2.1, for the syntax of a token.
 * Errors:  ERR_USAGE, also for a file without tokens. The message names the line, but never a
 *          token.
 */
int token_parse(const char *path, const char *text, struct token_row **rows, size_t *n_rows,
	struct err *err);

struct token_list;

/*
 * Read the token file at @path. Each caller in it becomes a principal. The caller's context for
 * operations is a copy of @base that has this principal.
 * Errors:  ERR_ACCESS if other users may read the file; ERR_NOT_FOUND; those of token_parse().
 */
int token_list_open(struct token_list **out, const char *path, const struct operation_context *base,
	struct err *err);

/* Read the file again. A caller whose name is still in the file remains the same principal, with
 * the limits that the file has now. On failure, tokens and limits are unchanged. */
int token_list_reload(struct token_list *list, struct err *err);

/*
 * Find the caller by its token (credential.h). The time does not depend on which token matches.
 * Returns: the context for operations, valid until the list is closed; NULL if the token is
 *          unknown.
 */
const struct operation_context *token_find(const struct token_list *list, const char *token);

/* Free the list. Must be called after the registry was closed, because sessions refer to the
 * principals. */
void token_list_close(struct token_list *list);
