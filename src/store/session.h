/* Sessions in the journal: names for places in the tree of steps, with owners and lifetimes.
 * Included by store/journal.h. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

enum { JOURNAL_NAME_BYTES = 64, JOURNAL_OWNER_BYTES = 64 };

/* A session as the journal stores it. Owns: a session that was read owns its texts, and
 * journal_session_done() frees them. A session that is given to journal_session_add() owns
 * nothing. */
struct journal_session {
	char id[JOURNAL_ID_BYTES];
	/* name of the owner; "": the operator, who runs the engine */
	char owner[JOURNAL_OWNER_BYTES];
	char name[JOURNAL_NAME_BYTES]; /* unique among the owner's open sessions; "": unnamed */
	/* id of the session from which this session was branched, or "" */
	char parent[JOURNAL_ID_BYTES];
	/* digest of the step at which this session begins; "": it begins without a step */
	char fork[DIGEST_BYTES];
	/* digest of the step whose state this session has; "": the state before the first step */
	char head[DIGEST_BYTES];
	/* ms since 1970; journal_session_add() replaces 0 by the present time */
	int64_t created_ms;
	/* when the session was closed, in ms since 1970; 0: the session is open */
	int64_t closed_ms;
	/* ttl_ms: maximal lifetime. idle_ms: maximal idle time. 0: unlimited. */
	int64_t ttl_ms, idle_ms;
	/* the lifetime limit that closed the session: "ttl" or "idle"; "" if no limit did */
	char ended[JOURNAL_WORD_BYTES];
	/* a step of the session has read data from an untrusted tool */
	bool is_tainted;
	/* the steps of the session may be deleted; see store/prune.h */
	bool is_forgotten;
	/* the options with which the session was created, as opaque text */
	const char *order;
	size_t order_bytes;
	void *owned;
};

/*
 * Create a session whose head is s->fork. Fills created_ms and head.
 * Errors: ERR_USAGE (the id is empty or in use, or the name is in use: the message says by which
 * session), ERR_NOT_FOUND (parent, fork), ERR_LIMIT, ERR_NO_SPACE, ERR_DAMAGED, ERR_IO.
 */
int journal_session_add(struct journal *j, struct journal_session *s, struct err *err);

/*
 * Find a session by its id, or an open session by its name. An id has precedence over a name. Only
 * sessions of @owner are found. If @owner is NULL, those of any owner are found, and a session
 * without owner has precedence.
 * Returns: 0, or negative errno with @out empty: ERR_NOT_FOUND, ERR_DAMAGED, ERR_USAGE (several
 * owners have a session of that name).
 */
int journal_session_of(struct journal *j, const char *owner, const char *id_or_name,
	struct journal_session *out, struct err *err);
/* Find a session by its id, or an open session by its name. The sessions of all owners are
 * searched: this is journal_session_of() with NULL as the owner. */
int journal_session_get(
	struct journal *j, const char *id_or_name, struct journal_session *out, struct err *err);
void journal_session_done(struct journal_session *s);

/*
 * Find the sessions of @owner whose id begins with @start. If @owner is NULL, find those of any
 * owner. Sessions are found whether they are open or closed. But if exactly one of them is open,
 * the closed ones are ignored.
 * Returns: 0 if no session was found; 1 if there is one; 2 if there are several; or negative errno.
 * After 1 and 2, @id is the id of one of the sessions.
 */
int journal_session_begins(struct journal *j, const char *owner, const char *start,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* Called for each session. It may read the journal, but not write to it. Returns: 0 to continue, 1
 * to stop, or negative errno (with @err set) to fail. */
typedef int journal_session_fn(void *user, const struct journal_session *s, struct err *err);

/* Call @fn for all sessions, oldest first. Returns: the number of calls, or negative errno. */
int64_t journal_sessions(struct journal *j, journal_session_fn *fn, void *user, struct err *err);

/*
 * Move the session's head to any step; if @head is "", to the state before the first step. No step
 * is deleted. @id is an id, not a name.
 * Errors: ERR_NOT_FOUND, ERR_USAGE (closed), ERR_NO_SPACE, ERR_DAMAGED, ERR_IO.
 */
int journal_session_move(struct journal *j, const char *id, const char *head, struct err *err);
int journal_session_rename(struct journal *j, const char *id, const char *name, struct err *err);

/* Replace the options with which the session was created. A session that is reopened gets the new
 * ones. Errors: ERR_NOT_FOUND, ERR_USAGE (closed), ERR_NO_SPACE, ERR_IO. */
int journal_session_reorder(struct journal *j, const char *id, const char *order, struct err *err);

/* Taint the session permanently, wherever its head moves later. A session that is tainted already
 * stays as it is. */
int journal_session_taint(struct journal *j, const char *id, struct err *err);

/* Close the session. Its name becomes free, and its steps are kept. A session that is closed
 * already stays as it is. @ended: as in struct journal_session. */
int journal_session_close(struct journal *j, const char *id, const char *ended, struct err *err);

/*
 * Among the sessions of @owner (NULL: any owner) called @name, find the one that a lifetime limit
 * closed last.
 * Returns: 1 with @id filled, 0 when no session matches, or negative errno.
 */
int journal_session_ended(struct journal *j, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* Among the sessions of @owner (NULL: any owner) called @name, find one that was closed for any
 * reason. Only the 1000 newest sessions of the journal are searched. Returns: as
 * journal_session_ended(). */
int journal_session_closed(struct journal *j, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* Count the open sessions of @owner (NULL: of all owners). Returns: the number, or negative
 * errno. */
int64_t journal_session_count(struct journal *j, const char *owner, struct err *err);

/*
 * Find the next open session that has a limit ttl_ms or idle_ms, and set *@after to its row number.
 * The search begins after row number *@after. For the first call, *@after is 0.
 * The function does not read the member `order` of @out, so the caller need not call
 * journal_session_done().
 * Sessions may be closed between two calls.
 * Returns: 1; 0 after the last session; or negative errno.
 */
int journal_session_mortal(
	struct journal *j, int64_t *after, struct journal_session *out, struct err *err);

/*
 * List the row numbers of the open sessions of @owner (NULL: any owner), oldest first. A newer
 * session has a higher number.
 * Owns: the caller frees *@out.
 * Returns: how many, or negative errno.
 */
int64_t journal_session_numbers(
	struct journal *j, const char *owner, int64_t **out, struct err *err);
/* Read the session with row number @number. Owns: the caller calls journal_session_done().
 * Returns: 1; 0 when the session is no longer open; or negative errno. */
int journal_session_at(
	struct journal *j, int64_t number, struct journal_session *out, struct err *err);
/* Return the row number of the session @id. Errors: ERR_NOT_FOUND. */
int64_t journal_session_number(struct journal *j, const char *id, struct err *err);
