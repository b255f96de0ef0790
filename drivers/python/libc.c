/*
 * Functions that not every libc exports: glibc has stat() and its relatives only since 2.33.
 * Hidden, so that nobody but this module gets them.
 *
 * The module is linked to no libc, and so its references have no versions. They bind to the libc of
 * the interpreter that loads it, which in a box with an image may be older than ours, or musl. Both
 * glibc and musl have the same layouts for what the module uses, on 64 bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "this module asks for no large files, since all are");

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
