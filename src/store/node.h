/* Steps in the journal. Included by store/journal.h. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/step_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

enum { JOURNAL_ID_BYTES = 72, JOURNAL_WORD_BYTES = 32 };
enum { JOURNAL_BLOB_MAX = 64 << 20 }; /* of one text: code, record, extra, order, a blob */

/*
 * How much of a step is read. BRIEF leaves out a long record (`record` is NULL then), and does not
 * see that it was changed: what lists steps has no use for what they printed. RAW leaves it to
 * journal_node_check() to compare the texts with the step's digest.
 */
enum journal_read { JOURNAL_WHOLE, JOURNAL_BRIEF, JOURNAL_RAW };

/*
 * One step, never changed once it is there. Bytes may be anything; those read back have a NUL
 * behind them that is not counted.
 *
 * Owns: given to journal_commit(), nothing. Read: journal_node_done() frees, or, in a callback,
 * nothing: it is valid until the callback returns.
 */
struct journal_node {
	char digest[DIGEST_BYTES];	/* journal_digest() of what follows */
	const struct step_name *name;	/* given to journal_commit(): of what follows; or NULL */
	char parent[DIGEST_BYTES];	/* "" for a first step */
	char session[JOURNAL_ID_BYTES]; /* in which it was made first */
	char runtime[JOURNAL_WORD_BYTES];
	char status[JOURNAL_WORD_BYTES];
	char outcome[JOURNAL_WORD_BYTES];
	const char *code;
	size_t code_bytes;
	const char *record; /* or NULL, see journal_read: inputs and outputs as canonical JSON: what
			       is hashed */
	size_t record_bytes;
	const char *extra; /* what differs from run to run (usage, times): kept, not hashed */
	size_t extra_bytes;
	int64_t created_ms; /* since 1970; 0 given to journal_commit(): now */
	int64_t seq;	    /* 1, 2, … in order of commit; set by the journal */
	int64_t attempt;    /* journal_session_steps() only: grows with time */
	void *owned;
};

/* step_digest() of it. */
void journal_digest(char out[DIGEST_BYTES], const struct journal_node *node);

/* Is it what its digest says? Any thread. Errors: ERR_DAMAGED. */
int journal_node_check(const struct journal_node *node, struct err *err);

/* Read now what journal_commit() of a step of @session behind @parent will have to know: while the
 * step runs there is time. */
void journal_prepare(struct journal *j, const char *session, const char *parent);

/*
 * Keep the step and move the head of its session in one transaction; when it returns, the step
 * survives kill -9. Fills node->digest, created_ms and seq. @head is where the session stands then:
 * NULL for the step itself, or a digest ("" for before the first), as after a rollback. Returns: 0;
 * 1 when the very step was there already, so that only the head has moved. Errors:  ERR_NOT_FOUND
 * (parent, head or session), ERR_USAGE (session closed, words too long), ERR_LIMIT, ERR_NO_SPACE,
 * ERR_DAMAGED, ERR_IO. Nothing is kept then; the journal stays usable.
 */
int journal_commit(struct journal *j, struct journal_node *node, const char *head, struct err *err);

/* Is @text a digest or at least 4 first digits of one? Errors: ERR_USAGE. */
int journal_start_check(const char *text, struct err *err);

/*
 * Find by digest or by at least 4 first digits of it, and check it.
 * Returns: 0, or negative errno with @out empty.
 * Errors:  ERR_USAGE (no digest, too short, or more than one step begins so), ERR_NOT_FOUND,
 *          ERR_DAMAGED.
 */
int journal_node_get(
	struct journal *j, const char *digest, struct journal_node *out, struct err *err);
void journal_node_done(struct journal_node *node);
