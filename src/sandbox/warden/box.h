/* The warden's state of one box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/cgroup.h"
#include "sandbox/proc_usage.h"
#include "sandbox/warden/idmap.h"
#include "sandbox/warden/root.h"
#include "sandbox/wire.h"

#include <sys/types.h>

/* BOX_ANCHOR: a destroyed box that still has branches. Its first process and its number remain. */
enum box_state { BOX_FREE, BOX_MAKING, BOX_LIVE, BOX_ANCHOR };
#define BOX_NONE UINT32_MAX /* in place of a box number: there is no box */

struct box {
	enum box_state state;
	unsigned slot;
	uint32_t parent; /* the number of the box of which this is a branch, or BOX_NONE */
	/* number of the first box of the family; for a box that is not a branch, its own number */
	uint32_t root;
	unsigned depth;	     /* how many branchings lead from the root to this box */
	unsigned n_branches; /* the number of branches of this box itself, finished or under way */
	/* this box can be branched, and so can its branches */
	bool is_branchable;
	unsigned n_branchings; /* how many of its branches are under way */
	bool is_pinned;	       /* the filter forbids changing the CPU affinity */
	bool has_image;
	bool has_own_files; /* as WARDEN_OWN_FILES */
	struct box_ids ids; /* of its user, inside the box */
	ino_t user_ns;	    /* inode number of the box's user namespace; 0 if unknown */
	pid_t pid;	    /* pid of the box's init */
	int pid_fd;	    /* pidfd of a branch's init, which is not our child; otherwise -1 */
	/* The seccomp listener of a branchable box. It reports each clone() that would make a
	 * branch, and the warden then allows or refuses the clone(). -1 for a branch, since the
	 * listener of the first box of the family also reports the clone() calls in all its
	 * branches. */
	int listener_fd;
	int64_t quiet_until_ms; /* until this time, the warden does not read the listener */
	int proc_fd;		/* the box's own /proc */
	/* file descriptor of the box's store, whose file system counts against the disk limit; or
	 * of a directory in it, if the box has no image */
	int store_fd;
	bool is_uncounted;	   /* no cgroup counts the box's memory */
	struct proc_bounds bounds; /* for counting the box's usage without a cgroup */
	struct cgroup_leaf leaf;
	/* the usage when last read; its peaks are kept here, since the kernel may not keep them */
	struct box_usage usage;
};

/* What all boxes of a warden share. */
struct box_host {
	struct idmap ids;
	struct cgroup_host cgroup;
	struct spare *spare; /* cgroup leaves made ahead */
	int init_fd;	     /* executable of init */
};

/* The box to make: its binds in the order of the requests, and its limits. */
struct box_spec {
	const struct warden_bind *binds;
	unsigned n_binds;
	const struct limits *limits;
	/* The box number by which the user and group ids of the box on the host are chosen. It
	 * is the number of the box itself or, for a branch, the number of its root, which is the
	 * first box of the family. */
	unsigned ids_slot;
	struct box_ids ids; /* inside the box */
	bool has_own_files;
	bool is_branchable;
};

/* Initialise @box as a free slot. */
void box_init(struct box *box, unsigned slot);

/*
 * Make a box with its cgroup leaf, namespaces, root, and init as pid 1. @box is a free slot.
 *
 * Fills:   @by with who enforces each limit; @out_fds with init's socket and the workspace.
 * Owns:    the caller gets the descriptors.
 * Blocks:  until init runs: a few milliseconds, at most BOX_READY_MS.
 * Errors:  ERR_BOX, ERR_USAGE (a bind), ERR_NOT_FOUND; all that was made is removed.
 */
int box_create(struct box *box, const struct box_host *host, const struct box_spec *spec,
	uint32_t by[LIMIT_END_], int out_fds[WARDEN_FD_END_], struct err *err);

/* Read what the box has used so far into box->usage. */
void box_usage(struct box *box);

/*
 * box_kill(): kill every process of the box and of its branches, without waiting. box_destroy():
 * kill them, wait for them, remove the cgroup and free the slot.
 * Blocks: while the kernel ends the processes; for a branch at most BOX_END_MS.
 */
void box_kill(const struct box *box);
void box_destroy(struct box *box);

/* Kill the processes of the box, but not its init and not the processes of its branches. The box
 * is then in the state BOX_ANCHOR. Its init must go on running, since the end of init would end
 * the branches, too. */
void box_anchor(struct box *box);
