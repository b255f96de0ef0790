/* The warden's state of one box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/cgroup.h"
#include "sandbox/proc_usage.h"
#include "sandbox/warden/idmap.h"
#include "sandbox/warden/root.h"
#include "sandbox/wire.h"

#include <sys/types.h>

/* An anchor is what remains of a destroyed box that has branches: its first process, its number. */
enum box_state { BOX_FREE, BOX_MAKING, BOX_LIVE, BOX_ANCHOR };
#define BOX_NONE UINT32_MAX /* no slot */

struct box {
	enum box_state state;
	unsigned slot;
	uint32_t parent;       /* the box it is a branch of, or BOX_NONE */
	uint32_t root;	       /* the box that it and its parents come from; itself when none */
	unsigned depth;	       /* its depth: the number of branchings from that box */
	unsigned n_branches;   /* its branches, finished or under way */
	bool is_branchable;    /* its branches included */
	unsigned n_branchings; /* branches under way */
	bool is_pinned;	       /* the filter forbids changing the CPU affinity */
	ino_t user_ns;	       /* the number of its user namespace */
	pid_t pid;	       /* of init */
	int pid_fd;	       /* pidfd of a branch's init, which is not our child; else -1 */
	/* listener of a box that can be branched and is not a branch itself; else -1 */
	int listener_fd;
	int64_t quiet_until_ms;	   /* its listener is ignored until this time */
	int proc_fd;		   /* the box's own /proc */
	int store_fd;		   /* on the file system behind its workspace, /tmp and /dev/shm */
	bool is_uncounted;	   /* no cgroup counts its memory */
	struct proc_bounds bounds; /* bounds for counting without a cgroup */
	struct cgroup_leaf leaf;
	struct box_usage usage; /* peaks seen so far, where the kernel does not keep them */
};

/* What all boxes of a warden share. */
struct box_host {
	struct idmap ids;
	struct cgroup_host cgroup;
	struct spare *spare; /* leaves made ahead */
	int init_fd;	     /* the executable of init */
};

/* The description of a box to make: the binds in the order of the requests, and the limits. */
struct box_spec {
	const struct warden_bind *binds;
	unsigned n_binds;
	const struct limits *limits;
	unsigned ids_slot; /* the box whose ids it has */
	bool is_branchable;
};

/* Initialise @box as an empty slot. */
void box_init(struct box *box, unsigned slot);

/*
 * Make a box in @box (free, its slot set): cgroup leaf, namespaces, root, init as pid 1.
 *
 * Fills:   @by with who enforces each limit; @out_fds with init's socket and the workspace.
 * Owns:    the caller gets the descriptors.
 * Blocks:  until init runs: a few milliseconds; at most BOX_READY_MS.
 * Errors:  ERR_BOX, ERR_USAGE (a bind), ERR_NOT_FOUND; nothing half-made is left.
 */
int box_create(struct box *box, const struct box_host *host, const struct box_spec *spec,
	uint32_t by[LIMIT_END_], int out_fds[WARDEN_FD_END_], struct err *err);

/* Read what the box has used so far. Keeps peaks in @box where the kernel does not. */
void box_usage(struct box *box);

/* Kill every process of the box and of its branches; then wait for them, remove the cgroup, free
 * the slot. Blocks: while the kernel ends them; for a branch at most BOX_END_MS. */
void box_kill(const struct box *box);
void box_destroy(struct box *box); /* both */

/* Kill its processes except init and those of its branches, and keep it as an anchor. */
void box_anchor(struct box *box);
