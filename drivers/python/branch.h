/*
 * Branches a driver's process. This is the part that runs inside the box. It needs libc only.
 *
 * Theory of operation. The process that is branched, P, must have only one thread. It identifies
 * itself to the warden and clones C1 into new namespaces. The seccomp filter allows that clone only
 * with the warden's consent. As after vfork(), C1 runs in P's own memory while P is suspended. C1
 * maps its user id, drops all capabilities of the new namespaces, joins its cgroup, and clones C2,
 * which is the copy of P. Then C1 becomes the init of the new box. Init and C2 wait until the
 * warden has furnished the box. branch_clone() returns twice, as fork() does: in P with the pid of
 * C1, and in C2 with 0, on C2's own copy of P's stack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

enum { BRANCH_STDIO = 3 };

/* The descriptors of a BRANCH frame, in the order of the frame. */
struct branch_fds {
	int sync;		 /* socket to the warden, SOCK_SEQPACKET */
	int init_sock;		 /* socket that the new init gets as descriptor 3 */
	int init_exe;		 /* executable of init, opened with O_PATH */
	int stdio[BRANCH_STDIO]; /* the new stdin, stdout, stderr */
	int channel;		 /* new channel to the engine */
};

/*
 * Fill @out from the @n descriptors that came with a BRANCH frame. Returns: 0, or -EPROTO if their
 * number is wrong.
 */
int branch_fds_parse(struct branch_fds *out, const int *fds, size_t n);

/* Close all descriptors and set them to -1. P does so after each branch. */
void branch_fds_close(struct branch_fds *fds);

/*
 * Branch the calling process, which must have one thread. All signals are blocked during the call
 * and the mask is restored on return. The at-fork handlers of libc do not run, so the caller must
 * do their work. C2 is process 2 of its PID namespace and a child of the new init. It has P's
 * memory, signal handlers and descriptors, and no capabilities. Until branch_settle() it stays in
 * P's session and directory.
 *
 * Blocks: until the copy is made, or the warden has given up.
 * Returns: C1's pid as P sees it, 0 in C2, or negative errno in P: -EPERM if the warden did not
 * expect a branch, -ECONNABORTED if it gave up later. After a failure no clone exists.
 */
int branch_clone(const struct branch_fds *fds);

/* Result of branch_settle() for the inherited descriptors. */
struct branch_report {
	/* Input: a function to call for each file that was opened again in the new box; or NULL */
	void (*reopened)(const struct stat *was, const struct stat *now);
	/* number of descriptors that were replaced by their counterpart in the new box */
	unsigned n_reopened;
	/* numbers of lost descriptors: they were connected before, and are dead now */
	unsigned n_sockets, n_pipes, n_others;
	/* number of sockets that lost unread datagrams */
	unsigned n_unread;
};

/*
 * Adapt C2 to the new box, after branch_clone(), in this order:
 *   - Start a new session (setsid()) and change to the directory of the same name in the new
 *     workspace, or to /home/user. Disable transparent huge pages (PR_SET_THP_DISABLE), since they
 *     would enlarge each branch by pages of its own.
 *   - Place the new stdin, stdout, stderr at 0, 1, 2 and the new channel at @channel_fd, which may
 *     be the old channel's number; close the descriptors that were open there and the rest of @fds.
 *   - Replace every other descriptor under the same number, except those in @keep:
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
 * Returns: 0, or negative errno. After an error the branch must call _exit().
 */
enum { BRANCH_COPY_MAX = 64 << 20 };
int branch_settle(struct branch_fds *fds, int channel_fd, const int *keep, size_t n_keep,
	struct branch_report *report);
