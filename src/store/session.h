/* Sessions in the journal: names for places in the tree of steps, with owners and lifetimes.
 * Included by store/journal.h. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

enum { JOURNAL_NAME_BYTES = 64, JOURNAL_OWNER_BYTES = 64 };

/* A session as the journal stores it. Owns: as struct journal_node; journal_session_done()
 * frees. */
struct journal_session {
	char id[JOURNAL_ID_BYTES];
	char owner[JOURNAL_OWNER_BYTES]; /* "": the operator who runs the engine */
	char name[JOURNAL_NAME_BYTES];	 /* unique among the owner's open sessions; "": unnamed */
	char parent[JOURNAL_ID_BYTES];	 /* id of the session that it was branched from, or "" */
	char fork[DIGEST_BYTES];	 /* digest of the step where it begins, or "" */
	char head[DIGEST_BYTES];	 /* digest of the step whose state it has, or "" */
	int64_t created_ms;		 /* 0 in journal_session_add(): now */
	int64_t closed_ms;		 /* 0: open */
	int64_t ttl_ms, idle_ms;	 /* maximal lifetime and idle time; 0: unlimited */
	char ended[JOURNAL_WORD_BYTES];	 /* limit that closed it: "ttl", "idle"; or "" */
	bool is_tainted;		 /* it has read data of an untrusted tool */
	bool is_forgotten;		 /* see store/prune.h: its steps may be deleted */
	const char *order;		 /* options that it was created with: opaque text */
	size_t order_bytes;
	void *owned;
};

/*
 * Create a session; its head is s->fork. Fills created_ms and head.
 * Errors: ERR_USAGE (id empty or in use, or name in use: the message says by which session),
 * ERR_NOT_FOUND (parent, fork), ERR_LIMIT, ERR_NO_SPACE, ERR_DAMAGED, ERR_IO.
 */
int journal_session_add(struct journal *j, struct journal_session *s, struct err *err);

/*
 * Find a session by its id, or an open one by its name. An id has precedence over a name.
 * @owner: the sessions of others do not exist for this owner. NULL: any owner; a session without
 * owner then has precedence.
 * Returns: 0, or negative errno with @out empty: ERR_NOT_FOUND, ERR_DAMAGED, ERR_USAGE (several
 * owners have a session of that name).
 */
int journal_session_of(struct journal *j, const char *owner, const char *id_or_name,
	struct journal_session *out, struct err *err);
/* Find a session of any owner. */
int journal_session_get(
	struct journal *j, const char *id_or_name, struct journal_session *out, struct err *err);
void journal_session_done(struct journal_session *s);

/*
 * Find the session of @owner (NULL: any owner) whose id begins with @start. An open session has
 * precedence over closed ones.
 * Returns: how many match: 0, 1, or 2 for two and more; @id is filled when it is not 0.
 */
int journal_session_begins(struct journal *j, const char *owner, const char *start,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* Callback for each session. Returns: 0 to continue, 1 to stop, negative errno (@err set) to
 * fail. It may read the journal, but not write to it. */
typedef int journal_session_fn(void *user, const struct journal_session *s, struct err *err);

/* Call @fn for all sessions, oldest first. Returns: the number of calls, or negative errno. */
int64_t journal_sessions(struct journal *j, journal_session_fn *fn, void *user, struct err *err);

/*
 * Move the head to any step ("" for before the first). No step is deleted. @id is an id, not a
 * name.
 * Errors: ERR_NOT_FOUND, ERR_USAGE (closed), ERR_NO_SPACE, ERR_DAMAGED, ERR_IO.
 */
int journal_session_move(struct journal *j, const char *id, const char *head, struct err *err);
int journal_session_rename(struct journal *j, const char *id, const char *name, struct err *err);

/* Taint the session permanently, wherever its head moves. A tainted session stays unchanged. */
int journal_session_taint(struct journal *j, const char *id, struct err *err);

/* Close the session: its name becomes free, its steps are kept. A closed session stays
 * unchanged. @ended: as in struct journal_session. */
int journal_session_close(struct journal *j, const char *id, const char *ended, struct err *err);

/*
 * Find the session called @name of @owner (NULL: any owner) that a lifetime limit closed last.
 * Returns: 1 with @id filled, 0 when no session matches, or negative errno.
 */
int journal_session_ended(struct journal *j, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* Search like journal_session_ended(), but among all closed sessions of the newest 1000. */
int journal_session_closed(struct journal *j, const char *owner, const char *name,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* Count the open sessions of @owner (NULL: of all owners). Returns: the number, or negative
 * errno. */
int64_t journal_session_count(struct journal *j, const char *owner, struct err *err);

/*
 * Find the next open session after row *@after (0: the first) that has ttl_ms or idle_ms. @out
 * lacks the order, so nothing has to be freed. Sessions may be closed between two calls.
 * Returns: 1, 0 after the last one, or negative errno.
 */
int journal_session_mortal(
	struct journal *j, int64_t *after, struct journal_session *out, struct err *err);

/*
 * List the row numbers of the open sessions of @owner (NULL: any owner), oldest first; a newer
 * session has a higher number.
 * Owns: the caller frees *@out. Returns: how many, or negative errno.
 */
int64_t journal_session_numbers(
	struct journal *j, const char *owner, int64_t **out, struct err *err);
/* Read the session with that row number. Owns: as journal_session_get(). Returns: 1; 0 when it
 * is no longer open; negative errno. */
int journal_session_at(
	struct journal *j, int64_t number, struct journal_session *out, struct err *err);
/* Return the row number of the session @id. Errors: ERR_NOT_FOUND. */
int64_t journal_session_number(struct journal *j, const char *id, struct err *err);
