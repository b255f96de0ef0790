/*
 * Branches a driver's process: the part that runs inside the box. libc only.
 *
 * Theory of operation. The process that is branched, P, must be alone (one thread). It identifies
 * itself to the warden and clones C1 into new namespaces, in P's own memory while P is suspended,
 * as vfork() does; the seccomp filter allows that clone only with the warden's consent. C1 maps its
 * user id, drops all capabilities of the new namespaces, joins its cgroup, clones C2, the copy of
 * P, and becomes the init of the new box. Init and C2 wait until the warden has furnished the
 * namespaces. So P returns from branch_clone() with a pid, and C2 returns from the same call with
 * 0, on its own copy of P's stack.
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
	int init_sock;		 /* descriptor 3 of the new init */
	int init_exe;		 /* executable of init, O_PATH */
	int stdio[BRANCH_STDIO]; /* the new stdin, stdout, stderr */
	int channel;		 /* new channel to the engine */
};

/* Fill @out from the @n descriptors that came with a BRANCH frame. Returns: 0, or -EPROTO. */
int branch_fds_parse(struct branch_fds *out, const int *fds, size_t n);

/* Close all descriptors and set them to -1, as P does after a branch. */
void branch_fds_close(struct branch_fds *fds);

/*
 * Branch the calling process, which must have one thread. All signals are blocked during the call
 * and the mask is restored on return. No at-fork handler of libc runs: the caller prepares and
 * follows up as for fork(). C2 is process 2 of its PID namespace and a child of the new init. It
 * has P's memory, signal handlers and descriptors, no capability, and stays in P's session and
 * directory until branch_settle().
 *
 * Blocks: until the copy is made, or the warden has given up.
 * Returns: C1's pid as P sees it, 0 in C2, or negative errno in P: -EPERM if the warden did not
 * expect a branch, -ECONNABORTED if it gave up later. After a failure no clone exists.
 */
int branch_clone(const struct branch_fds *fds);

/* Result of branch_settle() for the inherited descriptors. */
struct branch_report {
	/* input: called for each file that was opened again in the new box; or NULL */
	void (*reopened)(const struct stat *was, const struct stat *now);
	/* descriptors that were replaced by their counterpart in the new box */
	unsigned n_reopened;
	unsigned n_sockets, n_pipes, n_others; /* lost: connected before, dead now */
	/* sockets that lost unread datagrams */
	unsigned n_unread;
};

/*
 * Adapt C2 to the new box, after branch_clone(). In this order:
 *   - Start a new session (setsid()) and change to the directory of the same name in the new
 *     workspace, or to /home/user. Disable transparent huge pages (PR_SET_THP_DISABLE), since they
 *     would enlarge each branch by pages of its own.
 *   - Place the new stdin, stdout, stderr at 0, 1, 2 and the new channel at @channel_fd, which may
 *     be the old channel's number; close the descriptors that were open there and the rest of @fds.
 *   - Replace every other descriptor but those in @keep, under the same number:
 *     - Regular files and directories below /home/user, /tmp, /dev/shm are opened again by path in
 *       the new workspace, with the same flags and offset. Deleted files become a copy without a
 *       name (up to BRANCH_COPY_MAX). Other regular files get their own open file description.
 *     - An epoll instance becomes a new one that watches the same descriptors, an eventfd a new one
 *       with the same count.
 *     - Pipes and sockets with both ends in this process, and sockets that listen or are not
 *       connected, are created again, see sockets.h.
 *     - All others, such as fifos and pidfds, become an end of a closed socketpair: reading gives
 *       end-of-file, writing EPIPE. @report counts them as lost.
 *     Devices stay open. Shared mappings that P listed with shared_find() are replaced by the
 *     branch's own.
 *
 * Fills: the numbers in @report, also on failure.
 * Returns: 0, or negative errno: the branch must _exit().
 */
enum { BRANCH_COPY_MAX = 64 << 20 };
int branch_settle(struct branch_fds *fds, int channel_fd, const int *keep, size_t n_keep,
	struct branch_report *report);
