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
enum { JOURNAL_BLOB_MAX = 64 << 20 }; /* maximum of one text: code, record, extra, order, blob */

/* How much of a step is read. JOURNAL_BRIEF leaves out a long record (`record` is NULL then),
 * and so does not detect damage in it: for lists of steps, which do not show the output.
 * JOURNAL_RAW reads everything but does not compare the texts with the step's digest;
 * journal_node_check() does. */
enum journal_read { JOURNAL_WHOLE, JOURNAL_BRIEF, JOURNAL_RAW };

/*
 * One step; immutable once it is stored. The texts may contain any bytes; a text that was read has
 * a NUL behind it that is not counted.
 *
 * Owns: nothing when given to journal_commit(). journal_node_done() frees a step that was read. A
 * callback borrows the step until it returns.
 */
struct journal_node {
	char digest[DIGEST_BYTES];	/* journal_digest() of the members below */
	const struct step_name *name;	/* for journal_commit(): digests computed before, or NULL */
	char parent[DIGEST_BYTES];	/* digest of the parent; "" for a first step */
	char session[JOURNAL_ID_BYTES]; /* id of the session that ran the step first */
	char runtime[JOURNAL_WORD_BYTES];
	char status[JOURNAL_WORD_BYTES];
	char outcome[JOURNAL_WORD_BYTES];
	const char *code;
	size_t code_bytes;
	const char *record; /* canonical JSON, in the digest; NULL: left out, see journal_read */
	size_t record_bytes;
	const char *extra; /* what differs from run to run (usage, times): not part of the digest */
	size_t extra_bytes;
	int64_t created_ms; /* ms since 1970; 0 in journal_commit(): now */
	int64_t seq;	    /* row number: 1, 2, … in order of commit; set by the journal */
	int64_t attempt;    /* journal_session_steps() only: number of the change */
	void *owned;
};

/* Compute step_digest() of the node's parent, runtime, code and record. */
void journal_digest(char out[DIGEST_BYTES], const struct journal_node *node);

/* Compare the texts with the node's digest. Any thread. Returns: 0, or negative errno. Errors:
 * ERR_DAMAGED. */
int journal_node_check(const struct journal_node *node, struct err *err);

/* Read in advance what journal_commit() of a step of @session with @parent needs. Call it while
 * the step runs. */
void journal_prepare(struct journal *j, const char *session, const char *parent);

/*
 * Store the step and move the head of its session in one transaction. When it has returned, the
 * step survives kill -9. Fills digest, created_ms and seq of @node. @head is the new head of the
 * session: NULL for the step itself, or a digest ("" for before the first step), for instance after
 * a rollback.
 * Returns: 0; 1 when the same step existed already and only the head has moved.
 * Errors: ERR_NOT_FOUND (parent, head or session), ERR_USAGE (session closed, a word too long),
 * ERR_LIMIT, ERR_NO_SPACE, ERR_DAMAGED, ERR_IO. Nothing is stored then, and the journal stays
 * usable.
 */
int journal_commit(struct journal *j, struct journal_node *node, const char *head, struct err *err);

/* Is @text a digest or at least the first 4 digits of one? Returns: 0, or negative errno.
 * Errors: ERR_USAGE. */
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
