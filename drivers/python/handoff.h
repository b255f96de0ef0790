/* The descriptors of a process, replaced by its guard. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "locks.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HANDOFF_ITEMS_MAX = 16384, HANDOFF_WATCHES_MAX = 16384, HANDOFF_STREAMS = 5 };

/* How the guard replaces a descriptor. */
enum handoff_kind {
	HANDOFF_REOPEN, /* file or directory: open it again, at the same offset */
	HANDOFF_AGAIN,	/* same open file as an earlier descriptor: duplicate that one */
	HANDOFF_DEAD,	/* pipe or socket: an end of a closed socketpair */
	HANDOFF_PAIR,	/* end of an event loop's own socketpair; @same is the other end */
	HANDOFF_EPOLL,	/* epoll instance: a new one that watches the same descriptors */
};

struct handoff_item {
	int fd;
	enum handoff_kind kind;
	int flags;    /* F_GETFL */
	int fd_flags; /* F_GETFD */
	int same;     /* HANDOFF_AGAIN: earlier descriptor; HANDOFF_PAIR: other end */
	char *kept;   /* in a guard: saved content of an unlinked file, or NULL */
	char *path;   /* path of the file, if the engine restores the file; or NULL */
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

/* A standard stream, or the driver's duplicate of one. It stays shared; only its flags are saved.
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
	char *directory;	     /* current directory; NULL: it has no name */
	unsigned n_sockets, n_pipes; /* connected ones, which the guard loses */
	/* after a resume: locks that were not taken again; open files that lost their names */
	unsigned n_locks, n_astray;
};

/*
 * Input of handoff_make(): descriptors that are not replaced, and both ends of each event loop's
 * socketpair, in turn.
 */
struct handoff_order {
	int channel, guard, out, err;
	const int *pairs;
	int n_pairs;
};

/*
 * List the descriptors that a guard of this process must replace; takes some microseconds each. The
 * caller frees the list with handoff_done(), even after a failure.
 * Returns: 0, or negative errno (-E2BIG: too many descriptors).
 */
int handoff_make(struct handoff *handoff, const struct handoff_order *order);

/*
 * Replace the listed descriptors; called in the guard. Allocates nothing and makes only
 * async-signal-safe calls.
 * Returns: the number of descriptors that could not be replaced by an equivalent one.
 */
int handoff_carry_out(struct handoff *handoff);

/*
 * In a resumed guard: restore the content of unlinked files, the flags of streams and the locks.
 * Also open by name again each file that the engine has replaced on disk.
 */
void handoff_put_back(struct handoff *handoff);

void handoff_done(struct handoff *handoff);
