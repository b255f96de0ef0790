/* Steps in the journal: writing, finding and reading them. Included by store/journal.h.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/step_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

enum { JOURNAL_ID_BYTES = 72, JOURNAL_WORD_BYTES = 32 };
enum { JOURNAL_BLOB_MAX = 64 << 20 }; /* maximum of a text: code, record, extra, order or blob */

/*
 * How a step is read. JOURNAL_BRIEF leaves out a long record: `record` is NULL, and damage in it is
 * not detected. It is for lists of steps, which do not show the output. JOURNAL_RAW reads
 * everything but does not compare the texts with the step's digest; call journal_node_check() for
 * that.
 */
enum journal_read { JOURNAL_WHOLE, JOURNAL_BRIEF, JOURNAL_RAW };

/*
 * One step. It does not change once it is stored. The texts may contain any bytes. A text that was
 * read has a NUL behind it that its length does not count.
 *
 * Owns: a step that was read owns its texts, and journal_node_done() frees them. A step that is
 * given to journal_commit() owns nothing. A callback borrows the step until it returns.
 */
struct journal_node {
	char digest[DIGEST_BYTES]; /* the step's digest, see journal_digest() */
	/* For journal_commit(): digests that were computed before. NULL if there are none. */
	const struct step_name *name;
	char parent[DIGEST_BYTES];	/* digest of the parent; "" for a first step */
	char session[JOURNAL_ID_BYTES]; /* id of the session that ran the step first */
	char runtime[JOURNAL_WORD_BYTES];
	char status[JOURNAL_WORD_BYTES];
	char outcome[JOURNAL_WORD_BYTES];
	const char *code;
	size_t code_bytes;
	/* Canonical JSON. The digest covers it. NULL if it was not read, see JOURNAL_BRIEF. */
	const char *record;
	size_t record_bytes;
	/* What differs from run to run (usage, times). The digest does not cover it. */
	const char *extra;
	size_t extra_bytes;
	int64_t created_ms; /* ms since 1970; journal_commit() replaces 0 by the present time */
	int64_t seq;	    /* row number, set by the journal: 1, 2, … in the order of commits */
	/* A step may be run several times, and each run is a change in the log of changes. This is
	 * the number of the change for the run that journal_session_steps() reports. No other
	 * function sets it. */
	int64_t attempt;
	void *owned;
};

/* Compute step_digest() of the node's parent, runtime, code and record. */
void journal_digest(char out[DIGEST_BYTES], const struct journal_node *node);

/*
 * Check that the parent, runtime, code and record of @node have the digest node->digest. This
 * function can be called in any thread.
 * Returns: 0, or negative errno. Errors: ERR_DAMAGED.
 */
int journal_node_check(const struct journal_node *node, struct err *err);

/* Read in advance what journal_commit() needs from the database to store a step. The step is one
 * of the session @session, and its parent is the step @parent. Call this while the step runs, so
 * that journal_commit() takes less time. */
void journal_prepare(struct journal *j, const char *session, const char *parent);

/*
 * Store the step and move the head of its session in one transaction. When this has returned, the
 * step survives kill -9. Fills digest, created_ms and seq of @node.
 * @head is the new head of the session:
 * NULL: the new step.
 * "": the state before the first step.
 * otherwise: the digest of another step, for instance after a rollback.
 * Returns: 0; 1 when the same step existed already, so that only the head was moved.
 * Errors: ERR_NOT_FOUND (parent, head or session), ERR_USAGE (session closed, a word too long),
 * ERR_LIMIT, ERR_NO_SPACE, ERR_DAMAGED, ERR_IO. After an error, nothing was stored, and the journal
 * stays usable.
 */
int journal_commit(struct journal *j, struct journal_node *node, const char *head, struct err *err);

/*
 * Check that @text is a digest or at least the first 4 digits of one.
 * Returns: 0, or negative errno. Errors: ERR_USAGE.
 */
int journal_start_check(const char *text, struct err *err);

/*
 * Find a step by its digest or at least the first 4 digits of it, and verify it.
 * Returns: 0, or negative errno with @out empty.
 * Errors: ERR_USAGE (not a digest, too short, or several steps begin with it), ERR_NOT_FOUND,
 * ERR_DAMAGED.
 */
int journal_node_get(
	struct journal *j, const char *digest, struct journal_node *out, struct err *err);
void journal_node_done(struct journal_node *node);
