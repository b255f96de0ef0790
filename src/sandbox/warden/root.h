/* The root that a box sees, made from inside its new namespaces.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>

/* A mount that the warden has already detached from the host, and where it will be mounted. */
struct root_mount {
	int tree_fd; /* detached, from open_tree(OPEN_TREE_CLONE) */
	bool is_dir, is_volume;
	const char *dst; /* where in the box; absolute and normalised */
};

struct root {
	/* detached mounts of the layers of an image, the lowest first; none: the system is the
	 * host's. A box with an image has no @layer_fd. */
	const int *image_fds;
	unsigned n_image_fds;
	int layer_fd;	  /* a detached mount of a template's files, or -1 */
	int workspace_fd; /* a detached mount for the workspace; -1: make the workspace in memory */
	const struct limits *limits;
	const struct root_mount *mounts;
	unsigned n_mounts;
	/* The root of a branch of a box with an image: detached mounts of its /proc, and of its
	 * store with the files. Otherwise false and -1. */
	bool is_branch;
	int proc_tree, store_tree;
	/* What root_make() sets for a box with an image: its store, which is mounted nowhere.
	 * Otherwise -1. */
	int store_fd;
};

/*
 * Make the box's root on a new tmpfs. Then make it the root of this process, and unmount the host's
 * root. The caller must have all capabilities in new user, mount and pid namespaces.
 * The root of a branch is only made, and becomes the current directory.
 *
 * Returns: 0, or negative errno.
 * Errors:  ERR_BOX with the operation and its path. What was mounted stays: the caller discards the
 * mount namespace.
 * Source:  pivot_root(2), mount_setattr(2), move_mount(2).
 */
int root_make(struct root *root, struct err *err);
/* Make @path, the /proc/sys of a box with an image, read-only: its user may be root, to whom the
 * kernel lets change what it counts for the namespaces of the box. Nothing is written there later.
 * Errors: ERR_BOX. */
int root_seal_sysctls(const char *path, struct err *err);
/* Make the current directory, which is a mount point, the root of this process and of all others
 * in its mount namespace, and unmount the old root. Errors: ERR_BOX. */
int root_pivot(struct err *err);

/* What the warden gets of a box: directories, opened before programs of the box could put others in
 * their places. Negative: it could not be opened, and errno says why. */
struct root_seen {
	int proc;  /* the box's /proc */
	int home;  /* the workspace */
	int store; /* the store, or a directory in it: its file system counts against the disk limit
		    */
};

/*
 * Report success to the warden over @sock. The warden gets an empty struct err, the descriptors of
 * @seen in their order, and then @more (at most ROOT_MORE_FDS).
 * Errors:  ERR_ACCESS when the box could not write to the workspace, ERR_BOX, ERR_GONE.
 */
enum { ROOT_MORE_FDS = 2 };
/* Check that the descriptor that came as the /proc of a box is one: the warden reads files there
 * and kills what they name. Errors: ERR_BOX. */
int root_check_proc(int fd, struct err *err);
int root_hand_out(
	int sock, const struct root_seen *seen, const int *more, size_t n_more, struct err *err);

/*
 * Mount a new devpts on @path. Its pseudo-terminals are visible nowhere else, and it does not show
 * the pseudo-terminals of other devpts mounts.
 * Limits: ROOT_TERMINALS_MAX pseudo-terminals; the kernel has 3072 for all devpts mounts together.
 * Errors: ERR_BOX. Source: the kernel's filesystems/devpts.rst.
 */
enum { ROOT_TERMINALS_MAX = 64 };
int root_mount_terminals(const char *path, struct err *err);

/* Mount @mounts below the current directory, which is the root of a box. Errors: ERR_USAGE,
 * ERR_BOX. */
int root_mount_volumes(const struct root_mount *mounts, unsigned n_mounts, struct err *err);

/*
 * Check that a volume may be mounted at @dst: the path is absolute, has no empty, "." or ".."
 * component, and is not one that the box itself needs.
 * Errors:  ERR_USAGE saying what is wrong.
 */
int root_check_dst(const char *dst, struct err *err);

/* Check that @dst is a plain path below /retort, where drivers are mounted. Errors: ERR_USAGE,
 * ERR_PROTOCOL. */
int root_check_driver_dst(const char *dst, struct err *err);
