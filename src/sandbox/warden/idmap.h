/* The ids with which a box runs, and how the host's ids appear in it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Inside a box there is one user and one group: 1000, or what its image says. If root started
 * retort, each box runs on the host under an id of its own, from IDMAP_BASE on, where no
 * distribution assigns ids. Otherwise each box runs as the user who started retort.
 */
enum { IDMAP_BASE = 0x70000000, IDMAP_BLOCKS = 1 << 16 };

/* The ids of the one user of a box, inside it. */
struct box_ids {
	uid_t uid;
	gid_t gid;
};

struct idmap {
	bool is_root;	/* the warden runs as root and may map any ids */
	unsigned block; /* if root: number of this warden's block of WIRE_BOXES_MAX ids */
	int lock_fd;	/* if root: socket whose name reserves `block`; see idmap_claim() */
	uid_t uid;	/* the user who started retort, as an id of the host */
	gid_t gid;
};

/* Take a block of ids that no other warden of this host uses. Never fails: at worst, two wardens
 * share a block. */
void idmap_claim(struct idmap *map);

/* Return the host's ids for box number @slot. */
uid_t idmap_uid(const struct idmap *map, unsigned slot);
gid_t idmap_gid(const struct idmap *map, unsigned slot);

/*
 * Write setgroups, uid_map and gid_map of process @pid. In its user namespace, the user and the
 * group @inside are then the host's user @uid and group @gid.
 * Errors: ERR_BOX. Source: user_namespaces(7).
 */
int idmap_write(pid_t pid, const struct box_ids *inside, uid_t uid, gid_t gid, struct err *err);

/* Map the ids of process @pid to the same ids of the user namespace above, which must be the
 * caller's. Errors: ERR_BOX. */
int idmap_write_same(pid_t pid, const struct box_ids *ids, struct err *err);

/*
 * Map the ids of the detached mount @tree_fd, if root started retort. Files that belong to the
 * owner of the mount's top directory then appear in the box as files of the box's user. Files that
 * the box makes belong to this owner on disk. If another user started retort, nothing is done: the
 * box then runs with the ids of that user. A mount whose file system does not support id mapping is
 * left as it is.
 *
 * Returns: 1 if mapped, 0 if left as it is, or negative errno.
 * Errors:  ERR_BOX.
 * Source:  mount_setattr(2), "ID-mapped mounts".
 */
int idmap_mount(const struct idmap *map, unsigned slot, int tree_fd, struct err *err);
