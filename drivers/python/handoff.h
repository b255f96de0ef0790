/* The open files of a process, as its guard takes them over. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "locks.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HANDOFF_ITEMS_MAX = 16384, HANDOFF_WATCHES_MAX = 16384, HANDOFF_STREAMS = 5 };

/* How the guard replaces a descriptor that it cannot simply share. */
enum handoff_kind {
	HANDOFF_REOPEN, /* a file or directory: a new open file at the same offset */
	HANDOFF_AGAIN,	/* same open file as an earlier descriptor: a duplicate of that */
	HANDOFF_DEAD,	/* a pipe or socket: an end of a closed socketpair */
	HANDOFF_PAIR,	/* an end of an event loop's own socketpair; @same is the other end */
	HANDOFF_EPOLL,	/* an epoll instance: a new one that watches the same descriptors */
};

struct handoff_item {
	int fd;
	enum handoff_kind kind;
	int flags;    /* F_GETFL */
	int fd_flags; /* F_GETFD */
	int same;     /* HANDOFF_AGAIN: the earlier descriptor; HANDOFF_PAIR: the other end */
	char *kept;   /* in a guard: the saved content of an unlinked file, or NULL */
	char *path;   /* the name of the file, if the engine restores that; or NULL */
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

/* Standard streams and the driver's duplicates of them stay shared. Only their flags are saved. */
struct handoff_stream {
	int fd, flags;
};

struct handoff {
	struct handoff_item *items;
	struct handoff_watch *watches;
	struct handoff_stream streams[HANDOFF_STREAMS];
	struct locks locks;
	int n_items, n_watches, max_items, max_watches;
	char *directory;	     /* the current directory; NULL: it has no name */
	unsigned n_sockets, n_pipes; /* connected ones, which the guard gives up */
	/* After a resume: locks not taken again; files open that lost their name */
	unsigned n_locks, n_astray;
};

/*
 * Input of handoff_make(): descriptors to leave alone, and both ends of each event loop's
 * socketpair, in turn.
 */
struct handoff_order {
	int channel, guard, out, err;
	const int *pairs;
	int n_pairs;
};

/*
 * List what a guard of this process must replace; takes some microseconds per descriptor. The
 * caller frees the list with handoff_done(), also after a failure.
 * Returns: 0, or negative errno (-E2BIG: too many descriptors).
 */
int handoff_make(struct handoff *handoff, const struct handoff_order *order);

/*
 * Replace the descriptors; called in the guard. Allocates nothing and makes only
 * async-signal-safe calls.
 * Returns: the number of descriptors that could not be kept as they were.
 */
int handoff_carry_out(struct handoff *handoff);

/*
 * In a resumed guard: restore the content of unlinked files, the flags of streams and the locks,
 * and open the files again whose name now belongs to another file because the engine has restored
 * it.
 */
void handoff_put_back(struct handoff *handoff);

void handoff_done(struct handoff *handoff);
