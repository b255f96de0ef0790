/* Pruning: forgetting closed sessions, and deleting the data that only they used.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "store/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

/* Selects closed sessions: those of @owner (NULL: any owner) that were closed before @before_ms,
 * except the @keep sessions closed last. */
struct prune_which {
	const char *owner;
	int64_t before_ms; /* milliseconds since 1970 */
	uint64_t keep;
};

/*
 * Mark the selected sessions as forgotten, at most PRUNE_FORGET_MAX per call. Their data is deleted
 * by the next journal_prune_part().
 * @is_dry: only count all of them. Returns: how many, or negative errno.
 */
enum { PRUNE_FORGET_MAX = 256 };
int64_t journal_forget(
	struct journal *j, const struct prune_which *which, bool is_dry, struct err *err);

/*
 * Delete what only forgotten sessions used: the steps that no other session ran, the blobs that no
 * step and no session refers to, and the sessions themselves. In the log of changes they leave
 * gaps, which journal_verify() checks. Then return the free pages to the file system; a journal
 * that an earlier version created does not shrink, and reuses its free pages.
 *
 * Each pruning examines everything again, so it may be interrupted at any time, even by the death
 * of the process.
 */
struct journal_prune;
struct journal_pruned {
	int64_t n_sessions, n_steps, n_blobs;
};
int journal_prune_begin(struct journal_prune **out, struct journal *j, struct err *err);

/* Do one part, which takes some milliseconds. Returns: 1: call it again, 0: done, negative
 * errno: failed. */
int journal_prune_part(struct journal_prune *p, struct err *err);

/* End the pruning at any time and report what was deleted; NULL is allowed. */
struct journal_pruned journal_prune_end(struct journal_prune *p);

/* Digests of blobs that are referenced, or may soon be. */
struct digest_list {
	unsigned char (*at)[32];
	size_t n, room;
	bool is_broken;
};
/* Add a digest. Without memory the list becomes broken permanently, and no blob may be deleted. */
void digest_note(struct digest_list *l, const unsigned char digest[32]);
/* Remove the digests that @node refers to: the stored step now references these blobs. */
void digest_settle(struct digest_list *l, const struct journal_node *node);
void digest_list_done(struct digest_list *l);
