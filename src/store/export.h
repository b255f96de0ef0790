/* Writing a recording, part by part. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

/*
 * The steps from the first to @digest (NULL: the session's head), as store/recording.h reads them.
 * Of large steps the journal's thread only reads the bytes; to compare them with their digests and
 * to write them down can be done in any thread.
 */
struct journal_export;

/* Owns: the caller; @j must outlive it. Errors: ERR_NOT_FOUND, ERR_DAMAGED, ERR_NO_MEMORY. */
int journal_export_begin(struct journal_export **out, struct journal *j, const char *session,
	const char *digest, struct err *err);

/*
 * Do a small part. Returns: 0 when that was the last one; EXPORT_MORE; EXPORT_AWAY: before the next
 * part journal_export_away() must be called, in any thread; or negative errno. Errors: also
 * ERR_LIMIT.
 */
enum { EXPORT_MORE = 1, EXPORT_AWAY = 2 };
int journal_export_part(struct journal_export *x, struct err *err);
void journal_export_away(struct journal_export *x);

/* Is it all there? Then nothing of the journal's is needed any more. */
bool journal_export_is_whole(const struct journal_export *x);
/* What was written, once, when it is whole. Owns: the caller frees. */
char *journal_export_take(struct journal_export *x, size_t *bytes);

/* Frees it; NULL does nothing. */
void journal_export_done(struct journal_export *x);
