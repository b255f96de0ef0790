/*
 * Clones this process so that libc in the clone knows the id of its thread.
 *
 * libc keeps a copy of the id, for example to know who holds a mutex, and a clone by the plain
 * system call gets the copy of its original. glibc's copy is at the address that the kernel clears
 * when the thread ends, and there the kernel can also store the id of a clone. In musl the kernel
 * clears a lock instead, and its copy of the id must be found and written by us.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/types.h>

struct thread_id {
	int *cleared; /* the address that the kernel clears */
	int *kept;    /* address of libc's copy */
};

/*
 * Find the addresses for this thread. Returns: 0, or negative errno: -ENOTSUP if libc keeps the id
 * in neither of the two ways.
 */
int thread_id_find(struct thread_id *id);

/*
 * Clone this process, which has one thread, with the flags and the signal of clone(2).
 * Async-signal-safe. Returns: as fork().
 */
pid_t thread_id_clone(const struct thread_id *id, unsigned long flags);
