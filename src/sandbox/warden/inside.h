/* A box while it is made: what the warden prepares and its child, or a branch, works with.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/box.h"

/* What the child hands out, in this order; that of a branchable box the last two as well. */
enum { SEEN_PROC, SEEN_WORKSPACE, SEEN_STORE, SEEN_LISTENER, SEEN_USER_NS, SEEN_END_ };

/* All of it is made before the clone. */
struct making {
	const struct box_host *host;
	struct root root;
	struct root_mount mounts[WIRE_BINDS_MAX];
	int sync;      /* the child's end: "go" in, descriptors or an error out */
	int init_sock; /* becomes WIRE_SOCK_FD of init */
	int join_fds[CGROUP_JOIN_FDS];
	int n_join_fds;
	bool is_v1;
	bool is_branchable;
	unsigned n_cpus;   /* pin the box to that many, or 0 */
	bool is_uncounted; /* no cgroup counts the box's memory */
	unsigned slot;
	int listener_fd; /* in the child, of a branchable box */
};

/* The warden's ends of the two sockets to a box's first process. */
struct ends {
	int sync, control;
};

void ends_done(struct ends *ends);

/* An empty one. Owns: what making_open() puts in, until making_done(). */
void making_init(struct making *m, const struct box_host *host, const struct limits *limits);
void making_done(struct making *m);

/* Detach the binds from the host and make the sockets. Errors: as box_create(). */
int making_open(struct making *m, const struct box_spec *spec, struct ends *ours, struct err *err);

/* Take a cgroup leaf for @box; called after making_open(). Fills: @by with the mechanism that
 * enforces each limit. Errors: as box_create(); @box then has no leaf. */
int making_leaf(struct making *m, struct box *box, uint32_t by[LIMIT_END_], struct err *err);

/* Be the first process of a box: does not return. @wardens are the ends that are not ours. */
attr_noreturn void child_main(struct making *m, struct ends *wardens);

/* Pin process @pid (0: the caller) to @n_cpus CPUs. The first CPU depends on @slot, so that
 * boxes spread over the CPUs. */
int child_pin(pid_t pid, unsigned n_cpus, unsigned slot, struct err *err);

/* Bring up the loopback of the network namespace that the caller is in, and bound what TCP holds.
 */
int child_network(const struct making *m, struct err *err);

/* Become the one user of the user namespace that the caller is in, keeping its capabilities there;
 * the caller dies when its parent does. */
int child_become_user(struct err *err);

/* What the kernel counts for a user across namespaces: a box's share, or that of a family if it is
 * branchable. */
int child_quotas(const struct making *m, bool is_family, struct err *err);
