/* One box as the warden holds it. SPDX-License-Identifier: Apache-2.0 */
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
	uint32_t parent;	   /* the box it is a branch of, or BOX_NONE */
	uint32_t root;		   /* the box that it and its parents come from; itself when none */
	unsigned depth;		   /* how many branches it is away from that */
	unsigned n_branches;	   /* of itself, that are made or being made */
	bool is_branchable;	   /* and so are its branches */
	unsigned n_branchings;	   /* of those, that are being made */
	bool is_pinned;		   /* the filter forbids changing the CPU affinity */
	ino_t user_ns;		   /* which user namespace it is */
	pid_t pid;		   /* of init */
	int pid_fd;		   /* of a branch's init, which is no child of ours; else -1 */
	int listener_fd;	   /* of a root that can be branched; else -1 */
	int64_t quiet_until_ms;	   /* until then its listener is not looked at */
	int proc_fd;		   /* the box's own /proc */
	int store_fd;		   /* on the file system behind its workspace, /tmp and /dev/shm */
	bool is_uncounted;	   /* no cgroup counts its memory */
	struct proc_bounds bounds; /* for what is counted without a cgroup */
	struct cgroup_leaf leaf;
	struct box_usage usage; /* peaks seen so far, where the kernel keeps none */
};

/* What all boxes of a warden share. */
struct box_host {
	struct idmap ids;
	struct cgroup_host cgroup;
	struct spare *spare; /* leaves made ahead */
	int init_fd;	     /* the executable of init */
};

/* What a box is to be: the binds as they came, and the limits. */
struct box_spec {
	const struct warden_bind *binds;
	unsigned n_binds;
	const struct limits *limits;
	unsigned ids_slot; /* the box whose ids it has */
	bool is_branchable;
};

/* An empty box in @box: no descriptor, no relation. */
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

/* What the box has used so far. Keeps peaks in @box where the kernel keeps none. */
void box_usage(struct box *box);

/* Kill every process of the box and of its branches; then wait for them, remove the cgroup, free
 * the slot. Blocks: while the kernel ends them; for a branch at most BOX_END_MS. */
void box_kill(const struct box *box);
void box_destroy(struct box *box); /* both */

/* Kill its processes but init, none of its branches', and keep it as an anchor. */
void box_anchor(struct box *box);
