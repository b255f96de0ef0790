/* The root a box sees, made from inside its new namespaces. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>

/* A mount the warden has already detached from the host, and where it goes. */
struct root_mount {
	int tree_fd; /* from open_tree(OPEN_TREE_CLONE) */
	bool is_dir;
	const char *dst; /* absolute, normalised */
};

struct root {
	int rootfs_fd; /* a detached mount that /usr, /bin, /lib… and /etc come from, or -1: the
			  host */
	int workspace_fd; /* a detached mount, or -1 for one in memory */
	const struct limits *limits;
	const struct root_mount *mounts;
	unsigned n_mounts;
};

/*
 * Build the root on a fresh tmpfs, make it the process's root and unmount the host's. The caller
 * has every capability in a new user, mount and pid namespace and does nothing else with them.
 *
 * Returns: 0, or negative errno.
 * Errors:  ERR_BOX with the operation and its path; the namespace is then thrown away as it is.
 * Source:  pivot_root(2), mount_setattr(2), move_mount(2).
 */
int root_make(const struct root *root, struct err *err);

/*
 * Report success: send the warden an empty struct err and descriptors of /proc, the workspace,
 * the directory that counts against the disk limit, and @more (at most ROOT_MORE_FDS) over @sock.
 * Errors:  ERR_ACCESS when the box could not write to the workspace, ERR_BOX, ERR_GONE.
 */
enum { ROOT_MORE_FDS = 2 };
int root_hand_out(int sock, const int *more, size_t n_more, struct err *err);

/*
 * Mount on @path a place where pseudo-terminals are made, one that shows no others.
 * Limits: ROOT_TERMINALS_MAX of them; the kernel has 3072 for all such places together.
 * Errors: ERR_BOX. Source: the kernel's filesystems/devpts.rst.
 */
enum { ROOT_TERMINALS_MAX = 32 };
int root_mount_terminals(const char *path, struct err *err);

/* Mount @mounts below the current directory, which is a box's root. Errors: ERR_USAGE, ERR_BOX. */
int root_mount_volumes(const struct root_mount *mounts, unsigned n_mounts, struct err *err);

/*
 * Is @dst a place where a volume may be mounted: absolute, without empty, `.` and `..` parts, and
 * not one that the box itself needs?
 * Errors:  ERR_USAGE saying what is wrong.
 */
int root_check_dst(const char *dst, struct err *err);

/* Is @dst a place for a driver: a plain path below /retort? Errors: ERR_USAGE, ERR_PROTOCOL. */
int root_check_driver_dst(const char *dst, struct err *err);
