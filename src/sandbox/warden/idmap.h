/* Which ids a box runs as, and how the host's ids look in it. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Inside a box there is one user and one group, 1000. As root, each box runs on the host as an id
 * of its own from IDMAP_BASE on, ids that no distribution gives to anybody; otherwise as the user
 * who started retort.
 */
enum { IDMAP_BOX_ID = 1000, IDMAP_BASE = 0x70000000, IDMAP_BLOCKS = 1 << 16 };

struct idmap {
	bool is_root;	/* the warden may map ids that are not its own */
	unsigned block; /* as root: this warden has the ids of this block, WIRE_BOXES_MAX of them */
	int lock_fd;	/* the lock that keeps other wardens off the block */
	uid_t uid;	/* of the user who started retort, as the host knows it */
	gid_t gid;
};

/* Take a block of ids that is not used by another warden of this host. Never fails: at worst a
 * block is shared. */
void idmap_claim(struct idmap *map);

/* The host ids of box number @slot. */
uid_t idmap_uid(const struct idmap *map, unsigned slot);
gid_t idmap_gid(const struct idmap *map, unsigned slot);

/*
 * Write setgroups, uid_map and gid_map of process @pid: inside → host, one id each.
 * Errors: ERR_BOX. Source: user_namespaces(7).
 */
int idmap_write(pid_t pid, unsigned inside, uid_t uid, gid_t gid, struct err *err);

/*
 * As root: let the files that belong to the owner of detached mount @tree_fd's top appear as
 * belonging to the box, in both directions; on disk they keep their owner. Elsewhere: nothing to
 * do, the ids are the same. A file system without id-mapped mounts is left as it is.
 *
 * Returns: 1 mapped, 0 left as it is, or negative errno.
 * Errors:  ERR_BOX.
 * Source:  mount_setattr(2), "ID-mapped mounts".
 */
int idmap_mount(const struct idmap *map, unsigned slot, int tree_fd, struct err *err);
