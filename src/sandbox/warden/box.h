/* One box as the warden holds it. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/cgroup.h"
#include "sandbox/warden/idmap.h"
#include "sandbox/warden/root.h"
#include "sandbox/wire.h"

enum box_state { BOX_FREE, BOX_LIVE };

struct box {
	enum box_state state;
	unsigned slot;
	pid_t pid;	       /* of init */
	int proc_fd;	       /* the box's own /proc */
	int store_fd;	       /* on the file system behind its workspace, /tmp and /dev/shm */
	bool is_uncounted;     /* no cgroup counts its memory */
	uint64_t refine_bytes; /* count shared pages once when memory seems to be above */
	struct cgroup_leaf leaf;
	struct box_usage usage; /* peaks seen so far, where the kernel keeps none */
};

/* What all boxes of a warden share. */
struct box_host {
	struct idmap ids;
	struct cgroup_host cgroup;
	int init_fd; /* the executable of init */
};

/* What a box is to be: the binds as they came, and the limits. */
struct box_spec {
	const struct warden_bind *binds;
	unsigned n_binds;
	const struct limits *limits;
};

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

/* Kill every process of the box, wait for them, remove the cgroup. The slot is free afterwards. */
void box_destroy(struct box *box);
