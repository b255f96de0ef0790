/* The system prompt of the loop. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROMPT_TOKENS_MAX = 1200, PROMPT_BYTES_MAX = 4 * PROMPT_TOKENS_MAX };

struct prompt {
	const char *runtime; /* runtime of the session: the language of code without a tag */
	const char *limits;  /* limits of the session: "30 s per step, 1 GiB of memory"; or NULL */
	bool is_grounded;
	const char *servers; /* servers of tools, by their names in code: "crm, files"; NULL: no
				servers */
	uint64_t n_queries, query_bytes; /* limits of queries from code: count, and bytes of one
					    prompt; 0: no queries */
};

/*
 * Limits:  PROMPT_BYTES_MAX, which is four bytes for each of PROMPT_TOKENS_MAX.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int prompt_write(const struct prompt *p, struct buf *out);
