/* Writing of a recording in small parts. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

/* An export writes the steps from the first to @digest (NULL: the session's head) in the format
 * of store/recording.h. For large steps, the journal's thread only reads the bytes; any thread
 * may compare them with their digests and format them. */
struct journal_export;

/* Begin an export. Owns: the caller; @j must outlive it. Errors: ERR_NOT_FOUND, ERR_DAMAGED,
 * ERR_NO_MEMORY. */
int journal_export_begin(struct journal_export **out, struct journal *j, const char *session,
	const char *digest, struct err *err);

/* Do the next part. Returns: 0 when the export is complete; EXPORT_MORE: call this again;
 * EXPORT_AWAY: call journal_export_away() first, in any thread; or negative errno. Errors: also
 * ERR_LIMIT. */
enum { EXPORT_MORE = 1, EXPORT_AWAY = 2 };
int journal_export_part(struct journal_export *x, struct err *err);
void journal_export_away(struct journal_export *x);

/* Is the export complete? Then it needs nothing more from the journal. */
bool journal_export_is_whole(const struct journal_export *x);
/* Take the text of a complete export. Owns: the caller frees. */
char *journal_export_take(struct journal_export *x, size_t *bytes);

/* Free the export; NULL is allowed. */
void journal_export_done(struct journal_export *x);
