/* Steps of the journal, one after the other. Included by store/journal.h. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

/* Returns: 0 to go on, 1 to stop, negative errno (@err set) to fail. May read the journal, not
 * write. */
typedef int journal_node_fn(void *user, const struct journal_node *node, struct err *err);

/*
 * From @digest ("" for none) towards the first step, itself included, at most @max (0: all).
 * Returns: how many were told, or negative errno.
 */
int64_t journal_ancestors(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);

/* The same, of each JOURNAL_BRIEF. */
int64_t journal_brief(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);

/* The same, some at a time: @at is where it goes on, "" behind the first step. Returns as above. */
struct journal_way {
	char at[DIGEST_BYTES];
	int64_t before; /* 0: nothing was told yet */
	enum journal_read how;
};
int64_t journal_way_up(struct journal *j, struct journal_way *way, uint64_t max,
	journal_node_fn *fn, void *user, struct err *err);

/* How many steps it is from the first to @digest, itself included; 0 for "". At most a million. */
int64_t journal_depth(struct journal *j, const char *digest, struct err *err);

/*
 * The same over all that was run in a session, newest first: what it went back behind, and what was
 * rolled back, too. A step that was run twice with the same result is kept once and told twice:
 * session, outcome and created_ms are those of the attempt. Reads the log of changes.
 */
struct journal_attempts {
	const char *session;
	int64_t before; /* where it goes on; 0: the newest */
	enum journal_read how;
};
int64_t journal_session_steps(struct journal *j, struct journal_attempts *of, uint64_t max,
	journal_node_fn *fn, void *user, struct err *err);

/*
 * Steps are kept once. When did @owner come first to one that was there already, and where?
 * Returns: 1, 0 when he did not, negative errno.
 */
struct journal_again {
	char session[JOURNAL_ID_BYTES];
	int64_t at_ms;
	bool is_back; /* it was rolled back */
};
int journal_again(struct journal *j, const char *owner, const char *digest,
	struct journal_again *out, struct err *err);

/* The same over the steps whose parent is @digest ("" for first steps), oldest first. */
int64_t journal_children(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);
