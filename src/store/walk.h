/* Walks over the steps of the journal. Included by store/journal.h. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

/* Callback for each step. Returns: 0 to continue, 1 to stop, negative errno (@err set) to fail.
 * It may read the journal, but not write to it. */
typedef int journal_node_fn(void *user, const struct journal_node *node, struct err *err);

/*
 * Call @fn for @digest ("": for nothing) and its ancestors up to the first step, at most @max (0:
 * all).
 * Returns: the number of calls, or negative errno.
 */
int64_t journal_ancestors(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);

/* Walk like journal_ancestors(), but read each step as JOURNAL_BRIEF. */
int64_t journal_brief(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);

/* Walk like journal_ancestors() in several calls. A call continues at way->at, which is "" after
 * the first step. */
struct journal_way {
	char at[DIGEST_BYTES];
	int64_t before; /* row number of the step before; 0: the walk begins */
	enum journal_read how;
};
int64_t journal_way_up(struct journal *j, struct journal_way *way, uint64_t max,
	journal_node_fn *fn, void *user, struct err *err);

/* Count the steps from the first to @digest, which is included; 0 for "". Limits: a million. */
int64_t journal_depth(struct journal *j, const char *digest, struct err *err);

/* Call @fn for every step that was run in a session, the newest first, also those that an undo
 * or a rollback took back. A step that was run twice with the same result is stored once and
 * reported twice, with session, outcome and created_ms of each run. Reads the log of changes. */
struct journal_attempts {
	const char *session;
	int64_t before; /* number of the change to continue before; 0: begin with the newest */
	enum journal_read how;
};
int64_t journal_session_steps(struct journal *j, struct journal_attempts *of, uint64_t max,
	journal_node_fn *fn, void *user, struct err *err);

/*
 * Find when and where @owner first ran a step that existed already, since equal steps are stored
 * once.
 * Returns: 1; 0 when @owner has not; negative errno.
 */
struct journal_again {
	char session[JOURNAL_ID_BYTES];
	int64_t at_ms;
	bool is_back; /* that run was rolled back */
};
int journal_again(struct journal *j, const char *owner, const char *digest,
	struct journal_again *out, struct err *err);

/* Call @fn for the steps whose parent is @digest ("": for the first steps), oldest first. */
int64_t journal_children(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);
