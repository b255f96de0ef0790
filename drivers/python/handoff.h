/* What becomes of each descriptor of a process in its guard. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "locks.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HANDOFF_ITEMS_MAX = 16384, HANDOFF_WATCHES_MAX = 16384, HANDOFF_STREAMS = 5 };

/* What a guard does with a descriptor that it may not just share. */
enum handoff_kind {
	HANDOFF_REOPEN, /* a file or directory: one of its own, at the same offset */
	HANDOFF_AGAIN,	/* the same open file as an earlier one: a duplicate of that */
	HANDOFF_DEAD,	/* a pipe or socket: an end of a closed socketpair */
	HANDOFF_PAIR,	/* one end of an event loop's own socketpair; @same is the other */
	HANDOFF_EPOLL,	/* a new one that watches the same numbers */
};

struct handoff_item {
	int fd;
	enum handoff_kind kind;
	int flags;    /* as F_GETFL says */
	int fd_flags; /* as F_GETFD says */
	int same;     /* HANDOFF_AGAIN: an earlier fd; HANDOFF_PAIR: the other end */
	char *kept;   /* in a guard: of a file without a name, whose bytes are shared; or NULL */
	char *path;   /* of a file or directory: its name, if the engine puts that back; or NULL */
	off_t offset, bytes;
	bool is_unlinked, is_kept, is_renewed;
	dev_t dev;
	ino_t ino;
};

/* One descriptor that an epoll instance watches. */
struct handoff_watch {
	int epoll_fd, fd;
	uint32_t events;
	uint64_t data;
};

/* Standard streams, and the session's own, stay shared with the process: their flags as well. */
struct handoff_stream {
	int fd, flags;
};

struct handoff {
	struct handoff_item *items;
	struct handoff_watch *watches;
	struct handoff_stream streams[HANDOFF_STREAMS];
	struct locks locks;
	int n_items, n_watches, max_items, max_watches;
	char *directory;	     /* that the process is in; NULL: it has no name */
	unsigned n_sockets, n_pipes; /* that lead somewhere, and will not in the guard */
	unsigned n_locks, n_astray;  /* put back, others have them; open, but without their names */
};

/* What the maker of a plan says: descriptors to leave alone, and socketpairs, two by two. */
struct handoff_order {
	int channel, guard, out, err;
	const int *pairs;
	int n_pairs;
};

/* List what a guard of this process has to do; some microseconds for each descriptor. The caller
 * ends it with handoff_done(), also after a failure. Returns: 0, or negative errno (E2BIG: too many
 * of them). */
int handoff_make(struct handoff *handoff, const struct handoff_order *order);

/*
 * Do it, in the guard. Allocates nothing; only async-signal-safe calls.
 * Returns: the number of descriptors that are not what they were.
 */
int handoff_carry_out(struct handoff *handoff);

/* In a guard that goes on: files without a name, flags of streams and locks as they were. What was
 * put back may be another file than that which is open: what has the name now is opened. */
void handoff_put_back(struct handoff *handoff);

void handoff_done(struct handoff *handoff);
