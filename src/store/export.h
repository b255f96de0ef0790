/* Writing of a recording in small parts. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

/*
 * An export writes a recording (store/recording.h) of all steps from the first one to the step
 * @digest. If @digest is NULL, the export ends with the session's head.
 * The journal's thread only reads the bytes of a large step. Another thread may compare the bytes
 * with their digests, and format the step.
 */
struct journal_export;

/* Begin an export. @j must outlive it. Owns: the caller ends the export with
 * journal_export_done(). Errors: ERR_NOT_FOUND, ERR_DAMAGED, ERR_NO_MEMORY. */
int journal_export_begin(struct journal_export **out, struct journal *j, const char *session,
	const char *digest, struct err *err);

/*
 * Do the next part of an export.
 * Returns: 0 when the export is complete; EXPORT_MORE if the caller must call this function again;
 * EXPORT_AWAY if the caller must first call journal_export_away(), in any thread, and then this
 * function again; or negative errno.
 * Errors: also ERR_LIMIT.
 */
enum { EXPORT_MORE = 1, EXPORT_AWAY = 2 };
int journal_export_part(struct journal_export *x, struct err *err);
void journal_export_away(struct journal_export *x);

/* Return whether the export is complete. If so, it needs nothing more from the journal. */
bool journal_export_is_whole(const struct journal_export *x);
/* Take the text of a complete export. Owns: the caller frees. */
char *journal_export_take(struct journal_export *x, size_t *bytes);

/* Free the export; NULL is allowed. */
void journal_export_done(struct journal_export *x);
