/* A box while it is made: what the warden prepares for the box's first process.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/box.h"

/* The descriptors that the box's first process or a branch's helper sends to the warden, in this
 * order. Only a branchable box sends the last two. */
enum { SEEN_PROC, SEEN_WORKSPACE, SEEN_STORE, SEEN_LISTENER, SEEN_USER_NS, SEEN_END_ };

/* What the warden prepares before it clones the first process of a box. */
struct making {
	const struct box_host *host;
	struct root root;
	struct root_mount mounts[WIRE_VOLUMES_MAX];
	int image_fds[WIRE_LAYERS_MAX];
	int sync;      /* the box's end of a socket: receives "go", sends descriptors or an error */
	int init_sock; /* the socket that becomes WIRE_SOCK_FD of init */
	int join_fds[CGROUP_JOIN_FDS];
	int n_join_fds;
	bool is_v1;
	bool is_branchable;
	unsigned n_cpus;   /* the number of CPUs to which the box is pinned; 0: not pinned */
	bool is_uncounted; /* no cgroup counts the box's memory */
	unsigned slot;
	struct box_ids ids;
	bool has_own_files;
	/* of a branch: the store of its parent, which belongs to the parent; otherwise -1 */
	int parent_store_fd;
	int listener_fd; /* listener of a branchable box, set by its first process; otherwise -1 */
};

/* The warden's ends of the two sockets to a box's first process. */
struct ends {
	int sync, control;
};

void ends_done(struct ends *ends);

/* Initialise @m without descriptors. Owns: the caller calls making_done(), which closes what
 * making_open() and making_leaf() have opened. */
void making_init(struct making *m, const struct box_host *host, const struct limits *limits);
void making_done(struct making *m);

/* Detach the mounts of the binds, and make the sockets to the box's first process: @ours gets
 * the warden's ends. Errors: as box_create(). */
int making_open(struct making *m, const struct box_spec *spec, struct ends *ours, struct err *err);

/* Take a cgroup leaf for @box, and open what a process needs to join it. Call this after
 * making_open(). Fills: @by with who enforces each limit. Errors: as box_create(); @box then has
 * no leaf. */
int making_leaf(struct making *m, struct box *box, uint32_t by[LIMIT_END_], struct err *err);

/* Run as the first process of a box. Does not return. @wardens are the warden's ends of the two
 * sockets to this process. This process has copies of these ends, and closes them. */
attr_noreturn void child_main(struct making *m, struct ends *wardens);

/* Pin process @pid (0: the caller) to @n_cpus CPUs. If @n_cpus is 0, do nothing. The first CPU
 * depends on @slot, so that boxes are spread over the CPUs. */
int child_pin(pid_t pid, unsigned n_cpus, unsigned slot, struct err *err);

/* Bring up the loopback in the caller's network namespace, and bound the memory of TCP. @proc_fd:
 * the /proc of the box, which can be written to. */
int child_network(const struct making *m, int proc_fd, struct err *err);

/* Become the one user of the caller's user namespace, with these ids, and keep the capabilities in
 * it. When the parent of the caller dies, the caller is killed. */
int child_become_user(const struct box_ids *ids, struct err *err);

/* Limit the inotify instances and watches of the box to which the caller belongs. If @is_family,
 * the limits are higher: they are for a box together with its branches, since what a branch uses
 * also counts for its parent. */
int child_quotas(const struct making *m, bool is_family, int proc_fd, struct err *err);
