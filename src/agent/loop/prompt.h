/* The system prompt of the loop. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROMPT_TOKENS_MAX = 1200, PROMPT_BYTES_MAX = 4 * PROMPT_TOKENS_MAX };

struct prompt {
	const char *runtime; /* of the session: the language of code without a tag */
	const char *limits;  /* "30 s per step, 1 GiB of memory"; or NULL */
	bool is_grounded;
	const char *servers; /* of tools, as code names them: "crm, files"; NULL: none */
	uint64_t n_queries, query_bytes; /* that code may ask, and of one; 0: none */
};

/*
 * Limits:  PROMPT_BYTES_MAX, which is PROMPT_TOKENS_MAX with four bytes for each.
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int prompt_write(const struct prompt *p, struct buf *out);
