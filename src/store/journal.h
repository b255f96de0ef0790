/* The journal: every step, kept before anyone hears of it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "store/node.h"
#include "store/session.h"
#include "store/walk.h"

#include <stdint.h>
#include <stdio.h>

/*
 * An append-only, content-addressed tree of steps in SQLite, with sessions as movable names for
 * places in it. One engine at a time: journal.lock is locked for as long as the journal is open.
 *
 * What is promised: after journal_commit() the step survives the death of the process. A loss of
 * power may take the last steps that were not yet synced to the disk (all are by journal_idle() and
 * journal_close()), and never leaves half of one. A byte that changed on the disk is noticed when
 * it is read: each page, each row and each step carries a checksum, and journal.head says where the
 * log of changes ends, so that a cut one is noticed too.
 *
 * What grows: everything, until sessions are forgotten (store/prune.h). A small step takes about
 * 1 KiB, texts over 4 KiB are kept once however often they occur. Not for more than one thread.
 * Calls block for as long as the disk takes.
 */
struct journal;

/*
 * Open the journal of a state directory; directories are made, the last with mode 0700.
 * Owns:   *@out, until journal_close().
 * Errors: ERR_LIMIT (another engine has it: which pid), ERR_USAGE (made by a newer version, or no
 *         journal), ERR_ACCESS (no permission, read-only), ERR_NO_SPACE, ERR_DAMAGED, ERR_IO.
 */
int journal_open(struct journal **out, const char *dir, struct err *err);

/* One that goes with the process: its files have no name, so that not even SIGKILL leaves them. */
int journal_open_nameless(struct journal **out, struct err *err);

/* Sync and close. NULL is fine. What could not be synced is still in the files and found again. */
void journal_close(struct journal *j);

/*
 * To be called when there is nothing else to do, for instance 100 ms after the last step: syncs
 * what was written. Cheap when there is little to do. Not needed for steps to be safe from kill -9.
 * Returns: 0, or negative errno; nothing is lost by a failure.
 */
int journal_idle(struct journal *j, struct err *err);

/* What a step may refer to by digest (SHA-256 of @data) alone. Putting the same again is free. */
int journal_blob_put(struct journal *j, const void *data, size_t bytes, char digest[DIGEST_BYTES],
	struct err *err);
/* The same of what is known to have @digest, by digest_text(). */
int journal_blob_keep(
	struct journal *j, const void *data, size_t bytes, const char *digest, struct err *err);

/* Owns: the caller frees *@data, which has a NUL behind it. Errors: ERR_NOT_FOUND, ERR_DAMAGED. */
int journal_blob_get(
	struct journal *j, const char *digest, char **data, size_t *bytes, struct err *err);

/* Told of each damaged thing: "step 3f9a…", "blob 12ab…", "session s-…", "page 7", "change 12". */
typedef void journal_damage_fn(void *user, const char *what, const char *why);

/* Read all there is and check it: pages, indexes, steps, parents, blobs, sessions, the log of
 * changes. Blocks: for as long as it takes to read the file. Returns: how many damaged things were
 * told, or negative errno when it could not be done. */
int64_t journal_verify(struct journal *j, journal_damage_fn *fn, void *user, struct err *err);

/* How much is kept. */
struct journal_size {
	int64_t n_nodes, n_sessions, n_blobs, file_bytes;
	int64_t n_lost; /* changes that a loss of power took, seen by journal_open() */
};
int journal_size(struct journal *j, struct journal_size *out, struct err *err);

/* What costs nothing to tell: bytes of the files; changes since it was made; how full its log is,
 * in percent: at 100 it is time for journal_idle(), and four times as full a commit does it. */
int64_t journal_bytes(const struct journal *j), journal_changes(const struct journal *j);
unsigned journal_fill(const struct journal *j);
