/*
 * Shared mappings of a process that is branched. What it has mapped so, its branches would write to
 * together; so each makes them its own. libc only. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Is @path below a directory that each box has for itself: /home/user, /tmp, /dev/shm? */
bool shared_is_own_path(const char *path);

/* Is what @path names put back by the engine? Only in /home/user, and not in a volume. Its status
 * is in @st. */
bool shared_is_put_back(const char *path, struct stat *st);

/*
 * In the process that is to be branched, when it runs no code any more: list its mappings of files
 * below those directories, and of memory and files without a name. Those of others stay as they
 * are: the system's are read-only, and a volume is everybody's.
 * Returns: 0, or negative errno (-E2BIG: more than 4096).
 */
int shared_find(void);

/*
 * After that, in a process that makes a guard: list what the other processes of the box can write
 * to by mappings of theirs; @guards are left alone. Returns: as shared_find().
 */
int shared_find_others(const pid_t *guards, int n_guards);

/* A descriptor that is open on what @m maps, or -1. */
struct mapping;
int shared_fd_of(const struct mapping *m);

/*
 * In a branch, in the directories of its own and before descriptors are renewed: put in the place
 * of each mapping that shared_find() has found one of the same file in the new box, or of a copy of
 * what has no name. Other processes that had it mapped are not in the branch.
 * Returns: 0, or negative errno.
 */
int shared_renew(void);

/*
 * The copy that shared_renew() has made of the file @dev, @ino, which it keeps open until
 * shared_done(). Returns: a descriptor, or -1.
 */
int shared_copy_of(dev_t dev, ino_t ino);

/* Is @fd one of those copies? */
bool shared_has(int fd);

void shared_done(void);

/*
 * A guard goes on sharing memory with the process that it is a copy of, and with those of earlier
 * steps: what the mapping shows is kept, and written back when the guard takes the other's place.
 * At most SHARED_KEPT_MAX bytes; volumes are the host's. Neither allocates nor takes a lock.
 *
 * shared_keep(): in a guard, after shared_find() in the process: keep what the mappings show.
 * shared_put_back(): in a guard that goes on; first the mappings become those of the files that
 * have the names now. Returns: how many could not. shared_take_room(): is there room for @bytes
 * more? Else they are left out. shared_left_out(): the bytes for which there was no room, or that
 * could not be read.
 */
enum { SHARED_KEPT_MAX = 16 << 20 };
void shared_keep(void);
int shared_put_back(void);
bool shared_take_room(uint64_t bytes);
void shared_leave_out(uint64_t bytes);
uint64_t shared_left_out(void);
