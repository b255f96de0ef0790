/* Kernel calls that the C library has no wrapper for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/openat2.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Open @path below @dir as if @dir were the root, also for symbolic links. Magic links such as
 * /proc/PID/fd/N are refused. Returns: fd, or -1 with errno. Source: openat2(2). */
static inline int sys_open_in_root(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/*
 * Open @path below @dir without following any link or leaving @dir.
 * Returns: fd, or -1 with errno. Source: openat2(2).
 */
static inline int sys_open_beneath(int dir, const char *path, int flags, int mode)
{
	struct open_how how = {.flags = (uint64_t)flags,
		.mode = (uint64_t)mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/*
 * Open the existing @name in @dir as sys_open_beneath() does, and do not enter another mount.
 * Returns: fd, or -1 with errno, EXDEV for a mount point. Source: openat2(2).
 */
static inline int sys_open_below(int dir, const char *name, int flags)
{
	struct open_how how = {.flags = (uint64_t)flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			RESOLVE_NO_XDEV};
	return (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
}

/* Rename with @flags RENAME_NOREPLACE or RENAME_EXCHANGE. Returns: 0, or -1 with errno. Source:
 * renameat2(2). */
static inline int sys_rename(
	int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

/* Clone this process. Returns: pid in the parent, 0 in the child, -1 with errno. Source:
 * clone3(2). */
static inline int sys_clone3(struct clone_args *args)
{
	return (int)syscall(SYS_clone3, args, sizeof *args);
}
