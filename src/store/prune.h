/* Pruning: forgetting closed sessions, and deleting the data that only they used.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "store/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

/* Selects sessions to forget: the closed sessions of @owner (NULL: of any owner) that were closed
 * before @before_ms, except the @keep sessions that were closed last. */
struct prune_which {
	const char *owner;
	int64_t before_ms; /* milliseconds since 1970 */
	uint64_t keep;
};

/*
 * Mark the selected sessions as forgotten, at most PRUNE_FORGET_MAX per call. The next pruning
 * deletes their data. If @is_dry, only count the selected sessions, all of them.
 * Returns: how many, or negative errno.
 */
enum { PRUNE_FORGET_MAX = 256 };
int64_t journal_forget(
	struct journal *j, const struct prune_which *which, bool is_dry, struct err *err);

/*
 * A pruning deletes what only forgotten sessions used: the steps that no other session ran, the
 * blobs to which no step and no session refers, and the sessions themselves. It leaves gaps in the
 * log of changes, which journal_verify() checks. Finally it returns the free pages to the file
 * system. A journal that an earlier version created does not shrink, but its free pages are used
 * again.
 *
 * Each pruning examines everything again, so it may be interrupted at any time, even by the death
 * of the process.
 */
struct journal_prune;
struct journal_pruned {
	int64_t n_sessions, n_steps, n_blobs;
};
int journal_prune_begin(struct journal_prune **out, struct journal *j, struct err *err);

/* Do one part, which takes some milliseconds. Returns: 1 to be called again, 0 when the pruning is
 * done, or negative errno. */
int journal_prune_part(struct journal_prune *p, struct err *err);

/* End the pruning, complete or not. Returns: what was deleted. NULL is allowed. */
struct journal_pruned journal_prune_end(struct journal_prune *p);

/* A list of digests of blobs that are referenced, or may soon be. */
struct digest_list {
	unsigned char (*at)[32];
	size_t n, room;
	bool is_broken;
};
/* Add a digest. If there is no memory, the list is broken from then on, and a pruning must not
 * delete any blob. */
void digest_note(struct digest_list *l, const unsigned char digest[32]);
/* Remove some digests from the list @l: those of the blobs to which the step @node refers. The
 * caller has stored this step. A pruning will find the step and keep its blobs, so the list need
 * no longer contain their digests. */
void digest_settle(struct digest_list *l, const struct journal_node *node);
void digest_list_done(struct digest_list *l);
