/*
 * One small interface to cgroups with three implementations: cgroup v2, cgroup v1, none.
 *
 * Theory of operation. When the warden starts, it opens one `struct cgroup_host`: this finds the
 * warden's own cgroup in each hierarchy, and the controllers that may be used there. For each box
 * the warden makes a leaf and sets its limits. The box's first process then joins the leaf by
 * itself. In v1 it writes 0 to `tasks`, which does not wait for the kernel's grace period; in v2 it
 * is cloned with CLONE_INTO_CGROUP. A missing controller is not an error: cgroup_leaf_open() tells
 * for each limit who enforces it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "sandbox/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };
enum { CGROUP_PATH_BYTES = 512, CGROUP_NAME_BYTES = 64, CGROUP_JOIN_FDS = 4 };

/*
 * The controllers that retort uses. They are the indices of cgroup_host.base. In v1 each
 * controller has a hierarchy of its own or shares one with other controllers. v2 has only one
 * hierarchy, so `base` contains the same path for all enabled controllers. In v2 `base` always has
 * this path for CGROUP_CPUACCT, since cpu.stat needs no controller.
 */
enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_CPU,
	CGROUP_CPUACCT,
	CGROUP_CONTROLLER_END_
};

struct cgroup_host {
	enum cgroup_kind kind;
	/* per controller: the directory in which leaves are made, or "" */
	char base[CGROUP_CONTROLLER_END_][CGROUP_PATH_BYTES];
	/* the directory that a test uses in place of "/"; "" on a real host */
	char root[CGROUP_PATH_BYTES];
	/* what cannot be used (a controller, or cgroups altogether) and why; "" if nothing is
	 * missing */
	char why[ERR_MSG_BYTES];
	/* this struct was filled by cgroup_host_look(), which makes and changes no cgroup */
	bool is_looking;
	bool has_moved; /* v2: we moved this process and its parent to "retort-engine-PID" */
};

struct cgroup_leaf {
	const struct cgroup_host *host;
	char name[CGROUP_NAME_BYTES];
};

/*
 * Find the cgroups that this host lets us use, and prepare them. This never fails:
 * - If neither cgroup v1 nor v2 can be used, host->kind becomes CGROUP_NONE.
 * - If a controller cannot be used, its element of host->base becomes "".
 * In both cases host->why has the reason.
 *
 * @root is "" on a real host. A test passes a directory to use in place of "/". Then the files
 * proc/self/cgroup and proc/self/mountinfo below @root are read, and the mounts that they name are
 * looked for below @root.
 *
 * @force is the enum cgroup_kind that a test or the environment variable RETORT_CGROUP asks for. If
 * this kind cannot be used, host->kind becomes CGROUP_NONE. If @force is negative, v2 is used if
 * possible, otherwise v1.
 *
 * In v2 all leaves have one parent cgroup. It is the first of these that can be used:
 * 1. Our own cgroup, if it was delegated to us and contains only this process and its parent
 *    process. Both processes are moved to a child cgroup "retort-engine-PID", and the controllers
 *    are enabled. If the own cgroup is that of a systemd unit, the unit's limits then bind the
 *    boxes too.
 * 2. The nearest cgroup from our own one upwards that has the controllers enabled.
 * 3. Our own cgroup as in 1, although it was not delegated.
 *
 * Then a cgroup "retort-hold-PID.NAMESPACE" is made beside the leaves. It keeps the controllers
 * enabled in the parent cgroup. Without it, a service manager would disable a controller that its
 * own units no longer need, and so remove the limits of running boxes.
 *
 * Owns: the caller calls cgroup_host_close(), which undoes all this.
 */
void cgroup_host_open(struct cgroup_host *host, const char *root, int force);

/* Find the cgroups as cgroup_host_open() does, but move no process, enable no controller and
 * make no cgroup. After a warden died, the engine calls this before cgroup_host_sweep(). */
void cgroup_host_look(struct cgroup_host *host, const char *root);

/*
 * Undo what cgroup_host_open() changed. Call this when all leaves are closed.
 * If another engine still uses the controllers, they stay enabled, and our "retort-engine-PID"
 * stays. If @host is zeroed or comes from cgroup_host_look(), nothing is done.
 */
void cgroup_host_close(struct cgroup_host *host);

/* Write the name of leaf number @number of this warden: "retort-PID-NUMBER.NAMESPACE". A later
 * warden's cgroup_host_sweep() finds out by PID and NAMESPACE whether this warden is dead. */
void cgroup_leaf_name(char out[CGROUP_NAME_BYTES], unsigned number);

/*
 * Make a leaf @name in the base directory of each controller, and set @limits. The pids limit of
 * the leaf is one higher than the limit in @limits, because init is a process of the leaf too.
 * Fills: @by[LIMIT_memory_bytes], @by[LIMIT_cpu_milli] and @by[LIMIT_pids] with who enforces the
 * limit. Other elements of @by are untouched. An element becomes LIMIT_BY_NONE in two cases:
 * - The controller of the limit is missing.
 * - The limit is the CPU limit, and v1 refuses it because an ancestor cgroup has a smaller CPU
 *   quota. The caller can then pin the box to CPUs instead.
 * Limits: @name is one path component of less than CGROUP_NAME_BYTES. An empty cgroup of that name
 * is replaced; one that contains processes is an error.
 * Owns: @host must outlive the leaf.
 * Errors: ERR_BOX with the path and the cause; all that was made is removed.
 */
int cgroup_leaf_open(struct cgroup_leaf *leaf, const struct cgroup_host *host, const char *name,
	const struct limits *limits, enum limit_by by[LIMIT_END_], struct err *err);

/* Return whether the leaf still exists. While no process is in a leaf, the owner of the cgroup
 * above can remove it. */
bool cgroup_leaf_is_there(const struct cgroup_leaf *leaf);

/*
 * Open what the box's first process needs to join the leaf. v1: the `tasks` file of each hierarchy,
 * to which the process writes "0". v2: the leaf's directory, for CLONE_INTO_CGROUP. CGROUP_NONE:
 * nothing.
 * Owns: the caller closes @fds.
 * Returns: how many of @fds were filled, or negative errno with none left open.
 */
int cgroup_leaf_join_fds(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS]);

/*
 * v2: move process @pid to the leaf whose directory is @dir, a descriptor from
 * cgroup_leaf_join_fds(). The function returns the leaf's cgroup.procs, open for writing. A process
 * that writes "0" to this descriptor joins the leaf, even if this process may not open cgroup.procs
 * itself: the kernel checks the rights of the process that opened it.
 * Owns: the caller closes the returned descriptor.
 * Returns: the descriptor, or negative errno.
 */
int cgroup_leaf_move(int dir, pid_t pid);

/*
 * Read what the leaf has used since it was made. n_pids includes init. A field of @usage stays
 * unchanged if the kernel does not report its value. The reason can be a missing controller or an
 * old kernel: v2 reports memory_peak_bytes only since Linux 5.19.
 * Returns: 0, or negative errno with @usage untouched.
 */
int cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct box_usage *usage);

/*
 * The open usage files of a leaf. The engine reads the usage of its boxes from them, without asking
 * the warden. Either all usage files of the leaf are open or, if the kernel does not count
 * everything, not a single one.
 */
enum { CGROUP_BOOKS_MAX = 5 };
struct cgroup_books {
	enum cgroup_kind kind; /* CGROUP_NONE if no file is open */
	int fds[CGROUP_BOOKS_MAX];
};
/* Open the leaf's usage files. Owns: the caller closes @fds. Returns: how many were opened, which
 * is cgroup_books_count(); 0 if a file cannot be opened or the kernel does not count everything. */
int cgroup_leaf_books(const struct cgroup_leaf *leaf, int fds[CGROUP_BOOKS_MAX]);
int cgroup_books_count(enum cgroup_kind kind);
/*
 * Read from the usage files @books what the box has used so far, and store the numbers in @usage.
 * Returns: 0, or negative errno if a file cannot be read, for example because the leaf is gone.
 * After an error, @usage is unchanged.
 */
int cgroup_books_read(const struct cgroup_books *books, struct box_usage *usage);
void cgroup_books_close(struct cgroup_books *books);

/* Return whether the kernel counts memory, processes and CPU time of the leaf. If not, the engine
 * must count them. */
bool cgroup_leaf_counts_all(const struct cgroup_leaf *leaf);

/* Forbid new processes in the leaf, if the pids controller can be used. Existing ones stay. */
void cgroup_leaf_no_forks(const struct cgroup_leaf *leaf);

/*
 * Kill every process that is still in the leaf, and remove the leaf. A zeroed or closed leaf is
 * ignored.
 * Blocks: if the leaf is not empty, until its last process is gone, at most 200 ms.
 */
void cgroup_leaf_close(struct cgroup_leaf *leaf);

/*
 * Remove the empty cgroups that dead wardens left below the bases: "retort-PID-…",
 * "retort-hold-PID.…" and "retort-engine-PID". A warden counts as dead if no process
 * "retort-warden" has this PID. Only empty cgroups are removed and no process is killed. So the
 * boxes of a living warden are safe even if this /proc does not show the warden.
 */
void cgroup_host_sweep(const struct cgroup_host *host);
