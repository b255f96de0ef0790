/* Sessions of the journal by whose they are and how long they live. Included by store/journal.h.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/ref.h"

/*
 * Which one that was called @name did a lifetime close: the last of those of @owner (NULL:
 * anybody's). Returns: 1 and @id, 0 when there is none, or negative errno.
 */
int journal_session_ended(struct journal *j, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* The same of those that somebody closed; only the newest 1000 sessions are looked at. */
int journal_session_closed(struct journal *j, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* How many open ones @owner has (NULL: all), or negative errno. */
int64_t journal_session_count(struct journal *j, const char *owner, struct err *err);

/*
 * The next open one behind row *@after, 0 for the first, that has ttl_ms or idle_ms; without its
 * order, so that there is nothing to be freed. Between two, sessions may be closed.
 * Returns: 1, 0 when there is no more, or negative errno.
 */
int journal_session_mortal(
	struct journal *j, int64_t *after, struct journal_session *out, struct err *err);

/*
 * Which sessions of @owner (NULL: anybody's) are open, by number; the newest has the highest.
 * Owns: the caller frees *@out. Returns: how many, oldest first, or negative errno.
 */
int64_t journal_session_numbers(
	struct journal *j, const char *owner, int64_t **out, struct err *err);
/* The one of that number. Owns: as journal_session_get(). Returns: 1, or 0 when it is not open any
 * more. */
int journal_session_at(
	struct journal *j, int64_t number, struct journal_session *out, struct err *err);
/* What number has @id? Errors: ERR_NOT_FOUND. */
int64_t journal_session_number(struct journal *j, const char *id, struct err *err);
