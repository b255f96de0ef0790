/* Walks over the steps of the journal. Included by store/journal.h. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

/* Called for each step. It may read the journal, but not write to it. Returns: 0 to continue, 1 to
 * stop, or negative errno (with @err set) to fail. */
typedef int journal_node_fn(void *user, const struct journal_node *node, struct err *err);

/*
 * Call @fn for the step @digest and its ancestors, up to the first step, but for at most @max steps
 * (0: all). If @digest is "", nothing is called.
 * Returns: the number of calls, or negative errno.
 */
int64_t journal_ancestors(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);

/* Call @fn for the step @digest and its ancestors, like journal_ancestors(), but leave out long
 * records: each step is read as JOURNAL_BRIEF. */
int64_t journal_brief(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);

/* A walk like that of journal_ancestors(), but divided into several calls of journal_way_up().
 * The next call continues at the step `at`. After the first step of the tree was reached, `at`
 * is "". */
struct journal_way {
	char at[DIGEST_BYTES];
	int64_t before; /* row number of the step that was visited last; 0 before the first call */
	enum journal_read how;
};
int64_t journal_way_up(struct journal *j, struct journal_way *way, uint64_t max,
	journal_node_fn *fn, void *user, struct err *err);

/* Count the steps from the first to @digest, which is included. For "" return 0. Limits: a
 * larger number than a million is returned as a million. */
int64_t journal_depth(struct journal *j, const char *digest, struct err *err);

/*
 * Call @fn for every step that was run in a session, the newest first. Steps that an undo or a
 * rollback took back are included. A step that was run twice with the same result is stored once
 * and reported twice, with session, outcome and created_ms of each run. This reads the log of
 * changes.
 */
struct journal_attempts {
	const char *session;
	/* continue before the change with this number; 0: begin with the newest one */
	int64_t before;
	enum journal_read how;
};
int64_t journal_session_steps(struct journal *j, struct journal_attempts *of, uint64_t max,
	journal_node_fn *fn, void *user, struct err *err);

/*
 * A step that is run again with the same result as before is not stored again. The stored step
 * keeps the id of the session that ran it first.
 * journal_again() looks at the later runs of the stored step @digest in sessions of @owner. It
 * fills @out with the first of these later runs: in which session it was, and when.
 * Returns: 1; 0 if no session of @owner ran the step again; or negative errno.
 */
struct journal_again {
	char session[JOURNAL_ID_BYTES];
	int64_t at_ms;
	bool is_back; /* the later run that this struct describes was rolled back */
};
int journal_again(struct journal *j, const char *owner, const char *digest,
	struct journal_again *out, struct err *err);

/* Call @fn for the steps whose parent is @digest ("": for the first steps), oldest first. */
int64_t journal_children(struct journal *j, const char *digest, uint64_t max, journal_node_fn *fn,
	void *user, struct err *err);
