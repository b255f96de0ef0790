/*
 * How a driver becomes two: the part of a branch that happens inside the box. libc only.
 *
 * Theory of operation. The process that is branched, P, must be alone (one thread). It says who it
 * is to the warden and clones C1 into new namespaces, in P's own memory while P stands still, as
 * vfork does; only the warden can let that clone pass. C1 maps the one id, gives up every
 * capability that the namespaces brought, joins its cgroup, forks C2, the copy of P, and becomes
 * the new box's init. Init and C2 wait until the warden has furnished the namespaces. So P returns
 * from branch_clone() with a pid, and C2 returns from the same call with 0, on its own copy of P's
 * stack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

enum { BRANCH_STDIO = 3 };

/* The descriptors of a BRANCH frame, in the order of the frame. */
struct branch_fds {
	int sync;		 /* SOCK_SEQPACKET to the warden */
	int init_sock;		 /* becomes descriptor 3 of the new init */
	int init_exe;		 /* O_PATH */
	int stdio[BRANCH_STDIO]; /* the new stdin, stdout, stderr */
	int channel;		 /* the new channel to the engine */
};

/* Fill @out from the @n descriptors that came with a BRANCH frame. Returns: 0, or -EPROTO. */
int branch_fds_parse(struct branch_fds *out, const int *fds, size_t n);

/* Close all of them and set them to -1: what P does afterwards. */
void branch_fds_close(struct branch_fds *fds);

/*
 * Branch the calling process, which must have one thread. All signals are blocked during the call
 * and the mask is restored on return. No at-fork handler of libc runs: the caller does before and
 * after this call what it would do for fork(). C2 is process 2 of its PID namespace and a child
 * of the new init. It has P's memory, signal handlers and descriptors, no capability, and stays
 * in P's session and directory until branch_settle().
 *
 * Blocks: until the copy is made, or the warden has given up.
 * Returns: C1's pid as P sees it, 0 in C2, or negative errno in P: -EPERM when the warden did not
 * expect a branch, -ECONNABORTED when it gave up halfway. After a failure no process is left
 * over.
 */
int branch_clone(const struct branch_fds *fds);

/* What branch_settle() did to the descriptors that C2 inherited. */
struct branch_report {
	/* In: called for each file that was opened again in the new box; or NULL. */
	void (*reopened)(const struct stat *was, const struct stat *now);
	/* Descriptors that were replaced by their counterpart in the new box */
	unsigned n_reopened;
	unsigned n_sockets, n_pipes, n_others; /* that were connected before and are dead now */
	/* Sockets that lost datagrams which had not been read */
	unsigned n_unread;
};

/*
 * C2 only, after branch_clone(): adapt to the new box. In this order:
 *   - a new session; /home/user as directory, or the directory of the same name in the new
 *     workspace; transparent huge pages off, since each branch would grow by pages of its own;
 *   - the new stdin, stdout, stderr at 0, 1, 2 and the new channel at @channel_fd (which may be
 *     the number of the old one; what was open there is closed); the rest of @fds is closed;
 *   - every other descriptor, except those in @keep:
 *     - regular files and directories below /home/user, /tmp, /dev/shm are opened again by path
 *       in the new workspace, with the same number, flags and offset; unlinked files become an
 *       anonymous copy (up to BRANCH_COPY_MAX); other regular files get an open file description
 *       of their own;
 *     - an epoll instance becomes a new one that watches the same descriptors, an eventfd a new
 *       one with the same count;
 *     - pipes and sockets with both ends in the process, and sockets that listen or are not
 *       connected, are created again, see sockets.h;
 *     - anything else (other sockets and pipes, fifos, pidfds) becomes an end of a closed
 *       socketpair: the number stays taken, reading gives end-of-file, writing EPIPE; these count
 *       as lost.
 *   Devices stay. Shared mappings that P has listed by shared_find() become the branch's own.
 *
 * Fills: the numbers in @report, also on failure.
 * Returns: 0, or negative errno when the branch must not continue (_exit).
 */
enum { BRANCH_COPY_MAX = 64 << 20 };
int branch_settle(struct branch_fds *fds, int channel_fd, const int *keep, size_t n_keep,
	struct branch_report *report);
