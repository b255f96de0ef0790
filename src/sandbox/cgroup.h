/*
 * One small interface, three implementations: cgroup v2, cgroup v1, none.
 *
 * Theory of operation. The warden opens one `struct cgroup_host` when it starts: it looks where
 * this process stands in the hierarchies and which controllers it may use there. For each box it
 * makes a leaf, sets the limits, and lets the box's first process put *itself* in (v1: by writing 0
 * to `tasks`, which does not wait for the kernel's grace period; v2: by clone3 with
 * CLONE_INTO_CGROUP). A controller that is missing is not an error: cgroup_leaf_open() says per
 * limit who enforces it.
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
 * v1 has one hierarchy per controller (some share one); in v2 every row whose controller is enabled
 * holds the same path, and CGROUP_CPUACCT always does, since cpu.stat needs no controller.
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
	char base[CGROUP_CONTROLLER_END_][CGROUP_PATH_BYTES]; /* parent of the leaves, or empty */
	char root[CGROUP_PATH_BYTES]; /* what stands for "/"; empty on a real host */
	char why[ERR_MSG_BYTES];      /* when kind is none or a controller is missing: the reason */
	bool is_looking;	      /* nothing is moved, enabled or made */
	bool has_moved; /* v2: this process and its parent, into a leaf of their own */
};

struct cgroup_leaf {
	const struct cgroup_host *host;
	char name[CGROUP_NAME_BYTES];
};

/*
 * Look at the host. @root is the directory that stands for "/" (for tests; "" otherwise): files
 * read are @root/proc/self/cgroup, @root/proc/self/mountinfo and the cgroup mounts named there,
 * under @root.
 * @force: use this kind or CGROUP_NONE (tests and RETORT_CGROUP); negative: the best there is.
 * Never fails: what cannot be used becomes CGROUP_NONE or an empty base, with the reason in `why`.
 * v2, when the own cgroup was delegated and holds only this process and its parent: moves both into
 * a leaf "retort-engine-PID" there and enables the controllers, so that the limits of a unit bind
 * its boxes too. Otherwise the nearest cgroup above that has them enabled, or if there is none the
 * own one, delegated or not. Beside the leaves it makes "retort-hold-PID.NAMESPACE", by which the
 * controllers stay enabled: a service manager that wants one no more would take the limits of
 * running boxes away. Owns: cgroup_host_close() undoes that.
 */
void cgroup_host_open(struct cgroup_host *host, const char *root, int force);

/* The same, but nothing is moved, enabled or made: for cgroup_host_sweep() after a warden died. */
void cgroup_host_look(struct cgroup_host *host, const char *root);

/*
 * Leave the host as it was found, when no leaf is left; what others still need stays. A host that
 * is zeroed, or was only looked at, is fine.
 */
void cgroup_host_close(struct cgroup_host *host);

/*
 * A name for this warden's leaf number @number: "retort-PID-NUMBER.NAMESPACE". It tells
 * cgroup_host_sweep() of a later warden whether this one is dead.
 */
void cgroup_leaf_name(char out[CGROUP_NAME_BYTES], unsigned number);

/*
 * Make a leaf named @name under each base and set @limits. Fills `by` for memory_bytes, cpu_milli,
 * pids (and leaves the other rows alone) with who enforces: LIMIT_BY_NONE where no controller does.
 * The pids limit is raised by one for init. v1 refuses a CPU quota above an ancestor's: that row is
 * then LIMIT_BY_NONE, so that the caller can pin the box to CPUs instead.
 * Limits: @name is one path component of less than CGROUP_NAME_BYTES. A leaf of that name left
 * behind empty is replaced, one in use is an error.
 * Owns: @host must outlive the leaf.
 * Errors: ERR_BOX with the path and the cause; nothing half-made is left.
 */
int cgroup_leaf_open(struct cgroup_leaf *leaf, const struct cgroup_host *host, const char *name,
	const struct limits *limits, enum limit_by by[LIMIT_END_], struct err *err);

/* Is it as it was made? An empty one may be removed by whoever owns the cgroup above it. */
bool cgroup_leaf_is_there(const struct cgroup_leaf *leaf);

/*
 * v1: open the `tasks` files for the first process to write "0" into, one per hierarchy.
 * v2: open the leaf directory, for CLONE_INTO_CGROUP, into fds[0]. none: nothing.
 * Owns: the caller closes.
 * Returns: how many of @fds were filled, or negative errno with none left open.
 */
int cgroup_leaf_join_fds(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS]);

/*
 * v2: move a process into the leaf whose directory @dir is, as join_fds gave it.
 * Owns: the caller closes what is returned: by writing "0" to it another process follows, also one
 * that could not open it, since what counts is who has.
 * Returns: a descriptor, or negative errno.
 */
int cgroup_leaf_move(int dir, pid_t pid);

/*
 * What the leaf has used since it was made; fields without a controller (or without the file: the
 * peak is v1 and v2 of Linux 5.19) are left as they are. n_pids counts init too.
 * Returns: 0, or negative errno with @usage untouched.
 */
int cgroup_leaf_usage(const struct cgroup_leaf *leaf, struct box_usage *usage);

/*
 * The same read without the leaf: its files, opened once. All of them, or none where the kernel
 * does not count everything or lacks one.
 */
enum { CGROUP_BOOKS_MAX = 5 };
struct cgroup_books {
	enum cgroup_kind kind; /* CGROUP_NONE: there are none */
	int fds[CGROUP_BOOKS_MAX];
};
/* Owns: the caller closes. Returns: how many there are, which is 0 or cgroup_books_count(). */
int cgroup_leaf_books(const struct cgroup_leaf *leaf, int fds[CGROUP_BOOKS_MAX]);
int cgroup_books_count(enum cgroup_kind kind);
/* Returns: 0, or negative errno with @usage untouched: the leaf is gone. */
int cgroup_books_read(const struct cgroup_books *books, struct box_usage *usage);
void cgroup_books_close(struct cgroup_books *books);

/* Does the kernel count memory, processes and CPU time of the leaf, so that nobody else need? */
bool cgroup_leaf_counts_all(const struct cgroup_leaf *leaf);

/* Let no process of the leaf make another, where processes are counted; those there are stay. */
void cgroup_leaf_no_forks(const struct cgroup_leaf *leaf);

/*
 * Kill whatever is still in the leaf (v2 cgroup.kill; v1: signal the listed pids), remove it. A
 * leaf that is zeroed or closed is fine.
 * Blocks: not at all when the leaf is empty; otherwise until the last process is gone, at
 * most 200 ms.
 */
void cgroup_leaf_close(struct cgroup_leaf *leaf);

/*
 * Remove the leaves under each base that a warden which is no more left behind: "retort-PID-…",
 * "retort-hold-PID.…" and "retort-engine-PID" where PID is the warden's and no process named
 * "retort-warden" has it. Only empty leaves go: nothing is killed, so a warden that this /proc does
 * not show loses no box.
 */
void cgroup_host_sweep(const struct cgroup_host *host);
