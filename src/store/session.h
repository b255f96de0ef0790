/* Sessions in the journal: names for places in the tree; whose they are, and how long they live.
 * Included by store/journal.h. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "store/node.h"

#include <stdbool.h>

enum { JOURNAL_NAME_BYTES = 64, JOURNAL_OWNER_BYTES = 64 };

/* Owns: as struct journal_node; journal_session_done() frees. */
struct journal_session {
	char id[JOURNAL_ID_BYTES];
	char owner[JOURNAL_OWNER_BYTES]; /* whose it is; "" for whoever runs the engine */
	char name[JOURNAL_NAME_BYTES];	/* one of a kind among its owner's open ones; "" for none */
	char parent[JOURNAL_ID_BYTES];	/* branched from, or "" */
	char fork[DIGEST_BYTES];	/* where it begins, or "" */
	char head[DIGEST_BYTES];	/* where it stands, or "" */
	int64_t created_ms;		/* 0 given to journal_session_add(): now */
	int64_t closed_ms;		/* 0 while open */
	int64_t ttl_ms, idle_ms;	/* how long it may live, and be unused; 0: any time */
	char ended[JOURNAL_WORD_BYTES]; /* which of them closed it: "ttl", "idle"; or "" */
	bool is_tainted;		/* it has read from an untrusted tool */
	bool is_forgotten;		/* see store/prune.h: its steps may be gone */
	const char *order;		/* what it was made with: opaque text */
	size_t order_bytes;
	void *owned;
};

/*
 * Begin one; its head is s->fork. Fills created_ms and head.
 * Errors: ERR_USAGE (id empty or there already, name taken: the message says by whom),
 *         ERR_NOT_FOUND (parent, fork), ERR_LIMIT, ERR_NO_SPACE, ERR_DAMAGED, ERR_IO.
 */
int journal_session_add(struct journal *j, struct journal_session *s, struct err *err);

/*
 * By id, or by the name of an open one. An id wins over a name.
 * @owner: whose; what is another's is not there. NULL is anybody's: a name without owner wins over
 * one with.
 * Returns: 0, or negative errno with @out empty: ERR_NOT_FOUND, ERR_DAMAGED, ERR_USAGE (the name is
 * that of several owners' sessions).
 */
int journal_session_of(struct journal *j, const char *owner, const char *id_or_name,
	struct journal_session *out, struct err *err);
/* The same of anybody's. */
int journal_session_get(
	struct journal *j, const char *id_or_name, struct journal_session *out, struct err *err);
void journal_session_done(struct journal_session *s);

/*
 * Which session's id begins so, of those of @owner (NULL: anybody's): an open one before a closed
 * one.
 * Returns: how many there are, 0 to 2 for two or more; @id is filled when there is one.
 */
int journal_session_begins(struct journal *j, const char *owner, const char *start,
	char id[JOURNAL_ID_BYTES], struct err *err);

/* Returns: 0 to go on, 1 to stop, negative errno (@err set) to fail. May read the journal, not
 * write. */
typedef int journal_session_fn(void *user, const struct journal_session *s, struct err *err);

/* All, oldest first. Returns: how many were told, or negative errno. */
int64_t journal_sessions(struct journal *j, journal_session_fn *fn, void *user, struct err *err);

/*
 * Move the head to any step ("" for before the first); all steps stay. @id is an id, not a name.
 * Errors: ERR_NOT_FOUND, ERR_USAGE (closed), ERR_NO_SPACE, ERR_DAMAGED, ERR_IO.
 */
int journal_session_move(struct journal *j, const char *id, const char *head, struct err *err);
int journal_session_rename(struct journal *j, const char *id, const char *name, struct err *err);

/* From now on it is tainted, wherever its head moves. Tainting a tainted one changes nothing. */
int journal_session_taint(struct journal *j, const char *id, struct err *err);

/* Its name is free then; its steps stay. Closing a closed one changes nothing. @ended: as above. */
int journal_session_close(struct journal *j, const char *id, const char *ended, struct err *err);

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
