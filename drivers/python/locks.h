/*
 * Save the file locks of a process, and take them again in a resumed guard.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/types.h>

enum { LOCKS_MAX = 4096 };

/* The system call that took a lock, in this order: flock(), fcntl(F_SETLK), fcntl(F_OFD_SETLK). */
enum lock_kind { LOCK_OF_FLOCK, LOCK_OF_PROCESS, LOCK_OF_FILE };

struct held_lock {
	int fd;
	enum lock_kind kind;
	short type; /* type of the lock: F_RDLCK or F_WRLCK */
	off_t start, bytes;
};

struct locks {
	struct held_lock *list;
	int n, max;
	unsigned n_more; /* number of locks that did not fit into the list */
};

/*
 * Append the locks that were taken through the open file of @fd. Owns: locks_done() frees the list.
 */
void locks_find(struct locks *locks, int fd);

/*
 * Take all locks again through the same descriptors, without waiting. Allocates no memory and makes
 * only async-signal-safe calls. Returns: the number of locks that could not be taken.
 */
unsigned locks_take(const struct locks *locks);

void locks_done(struct locks *locks);
