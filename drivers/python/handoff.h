/*
 * How a guard replaces the descriptors that it has inherited from the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "locks.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HANDOFF_ITEMS_MAX = 16384, HANDOFF_WATCHES_MAX = 16384, HANDOFF_STREAMS = 5 };

/* The ways in which a guard replaces a descriptor. */
enum handoff_kind {
	HANDOFF_REOPEN, /* a file or directory: open it again, at the same offset */
	HANDOFF_AGAIN,	/* the same open file as an earlier descriptor: duplicate that one */
	HANDOFF_DEAD,	/* a pipe or socket: use an end of a closed socketpair */
	HANDOFF_PAIR,	/* an end of an event loop's socketpair: create a new pair */
	HANDOFF_EPOLL,	/* an epoll instance: create one that watches the same descriptors */
};

struct handoff_item {
	int fd;
	enum handoff_kind kind;
	int flags;    /* status flags, from F_GETFL */
	int fd_flags; /* descriptor flags, from F_GETFD */
	int same;     /* HANDOFF_AGAIN: the earlier descriptor; HANDOFF_PAIR: the other end */
	char *kept;   /* in a guard: saved content of an unlinked file, or NULL */
	char *path;   /* path of a file that the engine restores on a rollback; or NULL */
	off_t offset, bytes;
	bool is_unlinked, is_kept, is_renewed;
	dev_t dev;
	ino_t ino;
};

/* A descriptor that an epoll instance watches. */
struct handoff_watch {
	int epoll_fd, fd;
	uint32_t events;
	uint64_t data;
};

/*
 * A standard stream, or the driver's duplicate of one. A guard shares it with the live process;
 * only its flags are saved and restored.
 */
struct handoff_stream {
	int fd, flags;
};

struct handoff {
	struct handoff_item *items;
	struct handoff_watch *watches;
	struct handoff_stream streams[HANDOFF_STREAMS];
	struct locks locks;
	int n_items, n_watches, max_items, max_watches;
	char *directory;	     /* path of the current directory, NULL if it has no name */
	unsigned n_sockets, n_pipes; /* connected sockets and pipes that the guard loses */
	/*
	 * After a resume, n_locks is the number of locks that could not be taken again, and
	 * n_astray the number of open files that have lost their names.
	 */
	unsigned n_locks, n_astray;
};

/*
 * Input of handoff_make(). The descriptors @channel, @guard, @out and @err are not replaced. @pairs
 * holds descriptors of the event loops' socketpairs: the two ends of the first pair, then the two
 * ends of the second, and so on.
 */
struct handoff_order {
	int channel, guard, out, err;
	const int *pairs;
	int n_pairs;
};

/*
 * List the descriptors that a guard of this process must replace. This takes some microseconds for
 * each descriptor. The caller frees the list with handoff_done(), even after a failure.
 * Returns: 0, or negative errno, which is -E2BIG for too many descriptors.
 */
int handoff_make(struct handoff *handoff, const struct handoff_order *order);

/*
 * Replace the listed descriptors. This is called in the guard: it allocates no memory and makes
 * only async-signal-safe calls.
 * Returns: the number of descriptors for which no equivalent could be made.
 */
int handoff_carry_out(struct handoff *handoff);

/*
 * In a resumed guard, restore the content of unlinked files, the flags of the standard streams, and
 * the locks. Open each file again by its name if the engine has replaced it on disk.
 */
void handoff_put_back(struct handoff *handoff);

void handoff_done(struct handoff *handoff);
