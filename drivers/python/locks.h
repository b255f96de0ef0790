/* Locks on files that a process holds, and takes again. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

enum { LOCKS_MAX = 4096 };

/* How a lock was taken, which is how it is taken again. */
enum lock_kind { LOCK_OF_FLOCK, LOCK_OF_PROCESS, LOCK_OF_FILE };

struct held_lock {
	int fd;
	enum lock_kind kind;
	short type; /* F_RDLCK or F_WRLCK */
	off_t start, bytes;
};

struct locks {
	struct held_lock *list;
	int n, max;
	unsigned n_more; /* that there was no room for */
};

/* Add those that were taken by the open file of @fd. Owns: locks_done() frees. */
void locks_find(struct locks *locks, int fd);

/*
 * Take them, by the same descriptors, without waiting. Allocates nothing; only async-signal-safe
 * calls. Returns: how many cannot be taken.
 */
unsigned locks_take(const struct locks *locks);

void locks_done(struct locks *locks);
