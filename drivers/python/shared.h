/*
 * Shared mappings of a process that is cloned. A branch gets its own copy of each; a guard saves
 * the content. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Is @path below a directory that each box has for itself: /home/user, /tmp, /dev/shm? */
bool shared_is_own_path(const char *path);

/*
 * Does the engine restore the file @path on a rollback? Only in /home/user, outside of volumes.
 * @st: the file's status.
 */
bool shared_is_put_back(const char *path, struct stat *st);

/*
 * Before the clone, when the process runs no code any more: list its shared mappings of files
 * below those directories, and of memory and files without a name. Other shared mappings can stay
 * shared: system files are read-only, and a volume is meant to be shared.
 * Returns: 0, or negative errno (-E2BIG: more than 4096).
 */
int shared_find(void);

/*
 * Then, in a process that makes a guard: add what other processes of the box can write through
 * their mappings. @guards are skipped. Returns: as shared_find().
 */
int shared_find_others(const pid_t *guards, int n_guards);

/* A descriptor that is open on the file of @m, or -1. */
struct mapping;
int shared_fd_of(const struct mapping *m);

/*
 * In a branch, after it has entered its directories and before its descriptors are replaced:
 * replace each mapping that shared_find() has listed by one of the same file in the new box, or
 * by a copy of a file or memory without a name. Other processes that share the mapping are not
 * part of the branch.
 * Returns: 0, or negative errno.
 */
int shared_renew(void);

/*
 * The copy that shared_renew() has made of the file @dev, @ino. It stays open until
 * shared_done(). Returns: a descriptor, or -1.
 */
int shared_copy_of(dev_t dev, ino_t ino);

/* Is @fd one of those copies? */
bool shared_has(int fd);

void shared_done(void);

/*
 * A guard continues to share memory with the live process and with processes of earlier steps. It
 * saves what the mappings show, and writes that back when it is resumed. At most SHARED_KEPT_MAX
 * bytes; volumes belong to the host. Neither allocates nor takes a lock.
 *
 * shared_keep(): in a guard, after shared_find() in the process: save the content.
 * shared_put_back(): in a resumed guard: map the files that have the names now, then write the
 * content back. Returns: the number of mappings whose file is gone.
 * shared_take_room(): reserve @bytes of the budget; when there is not enough left, count them as
 * left out.
 * shared_left_out(): the bytes that were not saved, because there was no room or they could not
 * be read.
 */
enum { SHARED_KEPT_MAX = 16 << 20 };
void shared_keep(void);
int shared_put_back(void);
bool shared_take_room(uint64_t bytes);
void shared_leave_out(uint64_t bytes);
uint64_t shared_left_out(void);
