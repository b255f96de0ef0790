/* Rows that are held on to. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/journal.h"
#include "store/seal.h"

#include <stdbool.h>

/* A session's row as it is in the database. */
struct session_row {
	int64_t n, created_ms, closed_ms, change;
	char id[JOURNAL_ID_BYTES], name[JOURNAL_NAME_BYTES], parent[JOURNAL_ID_BYTES];
	char fork[JOURNAL_DIGEST_BYTES], head[JOURNAL_DIGEST_BYTES];
	char owner[JOURNAL_OWNER_BYTES], ended[JOURNAL_WORD_BYTES];
	int64_t ttl_ms, idle_ms;
	bool is_tainted, is_forgotten;
	unsigned char order_digest[SHA_BYTES];
};

/* What the commit of a step has to know. It is true until the next change, so it can be read while
 * the step still runs. */
struct ahead {
	int64_t change; /* the last one when it was read */
	struct session_row row;
	char parent[JOURNAL_DIGEST_BYTES];
	int64_t parent_seq, seq; /* of the step before, and of this one */
};
