/* The journal: a durable record of every step, written before the step's result is reported.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "store/node.h"
#include "store/session.h"
#include "store/walk.h"

#include <stdint.h>
#include <stdio.h>

/*
 * The journal is an append-only, content-addressed tree of steps in SQLite. Sessions are movable
 * names for places in the tree. Only one engine at a time may use a journal: journal.lock is locked
 * while the journal is open.
 *
 * Durability: when journal_commit() has returned, the step survives the death of the process. A
 * power failure may lose the last steps that were not synced to the disk, but never leaves half a
 * step; journal_idle() and journal_close() sync all. A byte that changed on the disk is detected
 * when it is read, since each page, row and step has a checksum. journal.head has the number of the
 * last change, so that a truncated log of changes is detected, too.
 *
 * Growth: everything is kept until sessions are forgotten (store/prune.h). A small step takes about
 * 1 KiB. A text over 4 KiB is stored once, however many steps contain it.
 * Not thread-safe. Blocks: for as long as the disk takes.
 */
struct journal;

/*
 * Open the journal of a state directory. Missing directories are made, the last one with mode 0700.
 * Owns:   the caller closes *@out with journal_close().
 * Errors: ERR_LIMIT (another engine uses the directory; the message names its pid), ERR_USAGE (made
 * by a newer version, or not a journal), ERR_ACCESS (no permission, read-only), ERR_NO_SPACE,
 * ERR_DAMAGED, ERR_IO.
 */
int journal_open(struct journal **out, const char *dir, struct err *err);

/* Open a temporary journal: its files have no names, so that nothing remains even after SIGKILL. */
int journal_open_nameless(struct journal **out, struct err *err);

/* Sync and close the journal; NULL is allowed. If the sync fails, the data is still in the
 * files, and the next journal_open() finds it. */
void journal_close(struct journal *j);

/*
 * Sync what was written to the disk. Call it when the engine is idle, for instance 100 ms after the
 * last step. It is cheap when little was written. Steps survive kill -9 without it.
 * Returns: 0, or negative errno; a failure loses nothing.
 */
int journal_idle(struct journal *j, struct err *err);

/* Store @data as a blob, and fill @digest with its SHA-256, by which steps may refer to it. Storing
 * the same bytes again adds nothing. */
int journal_blob_put(struct journal *j, const void *data, size_t bytes, char digest[DIGEST_BYTES],
	struct err *err);
/* Store @data like journal_blob_put(). @digest is the result of digest_text(). */
int journal_blob_keep(
	struct journal *j, const void *data, size_t bytes, const char *digest, struct err *err);

/* Read a blob. Owns: the caller frees *@data, which has a NUL behind it that @bytes does not count.
 * Errors: ERR_NOT_FOUND, ERR_DAMAGED. */
int journal_blob_get(
	struct journal *j, const char *digest, char **data, size_t *bytes, struct err *err);

/* Called for each damaged thing. @what is "step 3f9a…", "blob 12ab…", "session s-…", "page 7" or
 * "change 12". */
typedef void journal_damage_fn(void *user, const char *what, const char *why);

/*
 * Verify the whole journal: pages, indexes, steps, parents, blobs, sessions, the log of changes.
 * Blocks: for as long as it takes to read the file.
 * Returns: the number of calls of @fn, or negative errno when the journal cannot be verified.
 */
int64_t journal_verify(struct journal *j, journal_damage_fn *fn, void *user, struct err *err);

/* Counts and sizes of the journal. */
struct journal_size {
	int64_t n_nodes, n_sessions, n_blobs, file_bytes;
	/* Number of changes that a power failure had destroyed when the journal was opened. */
	int64_t n_lost;
};
int journal_size(struct journal *j, struct journal_size *out, struct err *err);

/*
 * Figures that need no query.
 * journal_bytes(): the size of the files.
 * journal_changes(): the number of changes since the journal was created.
 * journal_fill(): how full the write-ahead log is, in percent, at most 100. At 100, call
 * journal_idle() at once. If the log grows to four times the size that counts as 100 percent, the
 * next commit runs the checkpoint.
 */
int64_t journal_bytes(const struct journal *j), journal_changes(const struct journal *j);
unsigned journal_fill(const struct journal *j);
