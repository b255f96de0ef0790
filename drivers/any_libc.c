/*
 * Functions that not every libc exports: glibc has stat() and its relatives only since 2.33, and
 * getdents64() since 2.30. Hidden, so that nobody but the library that has this file gets them.
 *
 * Libraries that a box's programs load are linked to no libc, and so their references have no
 * versions. They bind to the libc of the program, which in a box with an image may be older than
 * ours, or musl. Both glibc and musl have the same layouts for what the libraries use, on 64 bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "nobody asks for large files, since all are");

int stat(const char *restrict path, struct stat *restrict st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict out)
{
	return (int)syscall(SYS_statx, dir, path, flags, mask, out);
}

ssize_t getdents64(int fd, void *out, size_t bytes)
{
	return syscall(SYS_getdents64, fd, out, bytes);
}
