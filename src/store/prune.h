/* Sessions forgotten, and what only they had. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "store/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

/* Which closed sessions: those of @owner (NULL: anybody's) that were closed before @before_ms, but
 * for the @keep newest of all closed ones. */
struct prune_which {
	const char *owner;
	int64_t before_ms; /* since 1970 */
	uint64_t keep;
};

/*
 * From now on they are forgotten, PRUNE_FORGET_MAX of them: others with another call. What they had
 * goes with the next journal_prune_part().
 * @is_dry: only count all of them. Returns: how many, or negative errno.
 */
enum { PRUNE_FORGET_MAX = 256 };
int64_t journal_forget(
	struct journal *j, const struct prune_which *which, bool is_dry, struct err *err);

/*
 * Remove what forgotten sessions had and nobody else has: steps that are in no other session's
 * past, blobs that no step and no session refers to, the sessions themselves; in the log of changes
 * they leave gaps, whose ends are checked. Then give the room back to the file system. A journal
 * that an earlier version made does not become smaller: its room is used again.
 *
 * All of it is found anew each time, so that it may end anywhere, also by the death of the process.
 */
struct journal_prune;
struct journal_pruned {
	int64_t n_sessions, n_steps, n_blobs;
};
int journal_prune_begin(struct journal_prune **out, struct journal *j, struct err *err);

/* One part, of some milliseconds. Returns: 1: there is more, 0: done, negative errno: given up. */
int journal_prune_part(struct journal_prune *p, struct err *err);

/* At any time. NULL is fine. What was removed until now. */
struct journal_pruned journal_prune_end(struct journal_prune *p);

/* Digests of blobs that are referred to, or may be soon. */
struct digest_list {
	unsigned char (*at)[32];
	size_t n, room;
	bool is_broken;
};
/* Without memory, the list says so ever after: then nothing can be removed. */
void digest_note(struct digest_list *l, const unsigned char digest[32]);
/* What @node refers to has been kept with it. */
void digest_settle(struct digest_list *l, const struct journal_node *node);
void digest_list_done(struct digest_list *l);
