/* The system prompt of the loop. Makes no system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROMPT_TOKENS_MAX = 1200, PROMPT_BYTES_MAX = 4 * PROMPT_TOKENS_MAX };

struct prompt {
	const char *runtime; /* runtime of the session, for code without a tag */
	/* The session's limits, such as "30 s per step, 1 GiB of memory"; or NULL. */
	const char *limits;
	/* The network rules, such as "api.example:443, *.pypi.org"; NULL: there is no network. */
	const char *net;
	bool is_grounded;
	/* The names of tool servers, as they are written in code: "crm, files"; or NULL. */
	const char *servers;
	/* n_queries: how many queries the code may make; 0 if queries are not possible.
	 * query_bytes: maximum length of one prompt. */
	uint64_t n_queries, query_bytes;
};

/*
 * Append the prompt to @out.
 * Limits:  PROMPT_BYTES_MAX bytes, which are about PROMPT_TOKENS_MAX tokens.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int prompt_write(const struct prompt *p, struct buf *out);
