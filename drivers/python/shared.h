/*
 * Separates shared mappings of a process from those of its clones. A branch gets its own copy of
 * each; a guard saves the content. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Is @path in a directory that each box has for itself: /home/user, /tmp, /dev/shm? */
bool shared_is_own_path(const char *path);

/*
 * Does the engine restore the file @path on a rollback? It restores files in /home/user, outside of
 * volumes. @st: the file's status.
 */
bool shared_is_put_back(const char *path, struct stat *st);

/*
 * Before the clone, when the process runs no more code: list its shared mappings of files in those
 * directories, and of memory and files without a name. Other mappings can stay shared: system files
 * are read-only, and volumes are meant to be shared.
 * Returns: 0, or negative errno (-E2BIG: more than 4096).
 */
int shared_find(void);

/*
 * After shared_find(), in a process that makes a guard: list the memory that other processes of the
 * box can write through their mappings. @guards are skipped. Returns: as shared_find().
 */
int shared_find_others(const pid_t *guards, int n_guards);

/* Find a descriptor that is open on the file of @m. Returns: the descriptor, or -1. */
struct mapping;
int shared_fd_of(const struct mapping *m);

/*
 * In a branch, after it has changed its directory and before its descriptors are replaced: replace
 * each listed mapping by one of the same file in the new box or, for memory and files without a
 * name, by a copy. Other processes that share the mapping are not part of the branch.
 * Returns: 0, or negative errno.
 */
int shared_renew(void);

/*
 * Return the copy that shared_renew() has made of the file @dev, @ino, or -1. The descriptor is
 * open until shared_done().
 */
int shared_copy_of(dev_t dev, ino_t ino);

/* Is @fd one of the copies that shared_renew() has made? */
bool shared_has(int fd);

void shared_done(void);

/*
 * A guard shares memory with the live process and with processes of earlier steps. It saves the
 * content of the mappings, at most SHARED_KEPT_MAX bytes, and writes it back when it is resumed.
 * Volumes belong to the host and are not saved. These functions neither allocate nor take a lock.
 *
 * shared_keep(): in a guard, after shared_find() in the process: save the content.
 *
 * shared_put_back(): in a resumed guard: map the files that have the names now, then write the
 * content back. Returns: the number of mappings whose file lost its name.
 *
 * shared_take_room(): reserve @bytes of the budget; if not enough is left, count them as left out.
 *
 * shared_leave_out(): count @bytes as left out.
 *
 * shared_left_out(): return the bytes that were not saved, for lack of room or because they could
 * not be read.
 */
enum { SHARED_KEPT_MAX = 16 << 20 };
void shared_keep(void);
int shared_put_back(void);
bool shared_take_room(uint64_t bytes);
void shared_leave_out(uint64_t bytes);
uint64_t shared_left_out(void);
