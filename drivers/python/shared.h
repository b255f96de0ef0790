/*
 * Separate the shared mappings of a process from those of its clones. A branch gets its own copy of
 * each mapping. A guard saves the content. Needs libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Return whether the engine restores the file @path on a rollback: it restores the files in
 * /home/user that are not in a volume. *@st is the file's status.
 */
bool shared_is_put_back(const char *path, struct stat *st);

/*
 * List the shared mappings of this process that a clone must replace: files in the directories that
 * each box has for itself, and memory and files without a name. Other mappings can stay shared,
 * because system files are read-only and volumes are meant to be shared. Must be called before the
 * clone, when the process runs no more code.
 * Returns: 0, or negative errno, which is -E2BIG for more than MAPPINGS_MAX.
 */
int shared_find(void);

/*
 * For a guard, also list the shared memory that other processes of the box can write to. The
 * processes in @guards are skipped. Must be called after shared_find(). Returns: as shared_find().
 */
int shared_find_others(const pid_t *guards, int n_guards);

/*
 * Find a descriptor of this process that is open on the file of @m. Returns: the descriptor, or -1.
 */
struct mapping;
int shared_fd_of(const struct mapping *m);

/*
 * In a branch, replace each listed mapping. A file with a name is mapped again, from the file of
 * the same path in the new box. Memory and files without a name are copied. Other processes that
 * share the mapping do not become part of the branch. Must be called after the branch has changed
 * its directory and before its descriptors are replaced.
 * Returns: 0, or negative errno.
 */
int shared_renew(void);

/*
 * Return a descriptor of the copy that shared_renew() has made of the file @dev, @ino; or -1. The
 * descriptor is open until shared_done().
 */
int shared_copy_of(dev_t dev, ino_t ino);

/* Return whether @fd is one of the copies that shared_renew() has made. */
bool shared_has(int fd);

void shared_done(void);

/*
 * A guard shares memory with the live process and with processes of earlier steps. It saves the
 * content of the mappings, at most SHARED_KEPT_MAX bytes, and writes it back when it is resumed.
 * Volumes belong to the host and are not saved. These functions neither allocate nor take a lock.
 *
 * shared_keep(), in a guard: save the content of the mappings that shared_find() has listed.
 *
 * shared_put_back(), in a resumed guard: map the files that have the names now, and write the
 * content back. Returns: the number of mappings whose file has lost its name.
 *
 * shared_take_room(): reserve @bytes of SHARED_KEPT_MAX. If not enough is left, count them as left
 * out and return false.
 *
 * shared_leave_out(): count @bytes as left out.
 *
 * shared_left_out(): return how many bytes were left out, for lack of room or because they could
 * not be read.
 */
enum { SHARED_KEPT_MAX = 16 << 20 };
void shared_keep(void);
int shared_put_back(void);
bool shared_take_room(uint64_t bytes);
void shared_leave_out(uint64_t bytes);
uint64_t shared_left_out(void);
