/* Who may call over HTTP: the file of tokens. SPDX-License-Identifier: Apache-2.0 */
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

/* One line of it: NAME TOKEN [sessions=N] [steps=N] [memory=SIZE] [rate=N/min] [paths=yes]
 * [metrics=yes] [tools=yes]. The token itself is not kept. */
struct token_row {
	char name[PRINCIPAL_NAME_BYTES];
	unsigned char hash[TOKEN_HASH_BYTES];
	struct principal_limits limits;
};

/*
 * Read @text, the whole file; empty lines and what follows a # at the start of a word do not count.
 *
 * Owns:    the caller frees *@rows.
 * Limits:  TOKENS_MAX.
 * Source:  RFC 6750, 2.1, for what a token is made of.
 * Errors:  ERR_USAGE: which line; never what the token is. No row at all is one, too.
 */
int token_parse(const char *path, const char *text, struct token_row **rows, size_t *n_rows,
	struct err *err);

struct token_list;

/*
 * Read the file at @path. Callers are principals in the context @base.
 * Errors: ERR_ACCESS when others may read it; ERR_NOT_FOUND; those of token_parse().
 */
int token_list_open(struct token_list **out, const char *path, const struct operation_context *base,
	struct err *err);

/* Read it again. Who keeps a name stays the same principal, with the new limits. On failure all is
 * as it was. */
int token_list_reload(struct token_list *list, struct err *err);

/*
 * Who calls with the header "Authorization: @value" ("Bearer …")? It takes as long for every token.
 * Returns: what operations are called with, until the list is closed; NULL: nobody.
 */
const struct operation_context *token_find(const struct token_list *list, const char *value);

/* To be called after the registry is gone. */
void token_list_close(struct token_list *list);
