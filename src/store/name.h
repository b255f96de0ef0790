/* What a step of the journal is called. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct err;
struct journal_node;

enum { JOURNAL_DIGEST_BYTES = 65, JOURNAL_ID_BYTES = 72, JOURNAL_WORD_BYTES = 32 };
enum { JOURNAL_SUM_BYTES = 32 };

/* What is computed of a step's texts before it is kept: it takes as long as they are. */
struct journal_name {
	char digest[JOURNAL_DIGEST_BYTES];
	unsigned char sums[2][JOURNAL_SUM_BYTES]; /* SHA-256 of code and of record, where long */
};

/*
 * SHA-256 over "retort.step.1" and parent (hexadecimal), runtime, code and record, each behind its
 * length as 8 bytes, big-endian. Needs no journal.
 */
void journal_digest(char out[JOURNAL_DIGEST_BYTES], const struct journal_node *node);

/* SHA-256 of @data, as digests are written. Any thread. */
void journal_sum(char out[JOURNAL_DIGEST_BYTES], const void *data, size_t bytes);

/* Is it what its digest says? Any thread. Errors: ERR_DAMAGED. */
int journal_node_check(const struct journal_node *node, struct err *err);

/* The same, and all else that can be computed without a journal: for node->name. Any thread. */
void journal_name(struct journal_name *out, const struct journal_node *node);
