/* What becomes of each descriptor of a process in its guard. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "locks.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PLAN_ITEMS_MAX = 16384, PLAN_WATCHES_MAX = 16384, PLAN_STREAMS = 5 };

/* What a guard does with a descriptor that it may not just share. */
enum plan_kind {
	PLAN_REOPEN, /* a file or directory: one of its own, at the same offset */
	PLAN_AGAIN,  /* the same open file as an earlier one: a duplicate of that */
	PLAN_DEAD,   /* a pipe or socket: an end of a closed socketpair */
	PLAN_PAIR,   /* one end of an event loop's own socketpair; @same is the other */
	PLAN_EPOLL,  /* a new one that watches the same numbers */
};

struct plan_item {
	int fd;
	enum plan_kind kind;
	int flags;    /* as F_GETFL says */
	int fd_flags; /* as F_GETFD says */
	int same;     /* PLAN_AGAIN: an earlier fd; PLAN_PAIR: the other end */
	char *kept;   /* in a guard: of a file without a name, whose bytes are shared; or NULL */
	char *path;   /* of a file or directory: its name, if the engine puts that back; or NULL */
	off_t offset, bytes;
	bool is_nameless, is_kept, is_renewed;
	dev_t dev;
	ino_t ino;
};

/* One descriptor that an epoll instance watches. */
struct plan_watch {
	int epoll_fd, fd;
	uint32_t events;
	uint64_t data;
};

/* Standard streams, and the session's own, stay shared with the process: their flags as well. */
struct plan_stream {
	int fd, flags;
};

struct plan {
	struct plan_item *items;
	struct plan_watch *watches;
	struct plan_stream streams[PLAN_STREAMS];
	struct locks locks;
	int n_items, n_watches, max_items, max_watches;
	char *directory;	     /* that the process is in; NULL: it has no name */
	unsigned n_sockets, n_pipes; /* that lead somewhere, and will not in the guard */
	unsigned n_locks, n_astray;  /* put back, others have them; open, but without their names */
};

/* What the maker of a plan says: descriptors to leave alone, and socketpairs, two by two. */
struct plan_order {
	int channel, guard, out, err;
	const int *pairs;
	int n_pairs;
};

/* List what a guard of this process has to do; some microseconds for each descriptor. The caller
 * ends it with plan_done(), also after a failure. Returns: 0, or negative errno (E2BIG: too many of
 * them). */
int plan_make(struct plan *plan, const struct plan_order *order);

/*
 * Do it, in the guard. Allocates nothing; only async-signal-safe calls.
 * Returns: the number of descriptors that are not what they were.
 */
int plan_carry_out(struct plan *plan);

/* In a guard that goes on: files without a name, flags of streams and locks as they were. What was
 * put back may be another file than that which is open: what has the name now is opened. */
void plan_put_back(struct plan *plan);

void plan_done(struct plan *plan);
