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
 * One row per controller. v1 has one hierarchy per controller (some share one). In v2 every row
 * whose controller is enabled holds the same path; CGROUP_CPUACCT always holds it, since cpu.stat
 * needs no controller.
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
	/* the directory that is used as "/" (tests); empty on a real host */
	char root[CGROUP_PATH_BYTES];
	/* the reason, when the kind is CGROUP_NONE or a controller is missing */
	char why[ERR_MSG_BYTES];
	bool is_looking; /* nothing is moved, enabled or made */
	bool has_moved;	 /* v2: this process and its parent were moved into a leaf of their own */
};

struct cgroup_leaf {
	const struct cgroup_host *host;
	char name[CGROUP_NAME_BYTES];
};

/*
 * Find out what the host offers. @root is the directory to use as "/" (for tests; "" otherwise):
 * the files read are @root/proc/self/cgroup, @root/proc/self/mountinfo and the cgroup mounts
 * named there, under @root. @force: use this kind or CGROUP_NONE (tests and RETORT_CGROUP);
 * negative: the best there is. Never fails: what cannot be used becomes CGROUP_NONE or an empty
 * base, with the reason in `why`. v2, when the own cgroup was delegated and holds only this
 * process and its parent: moves both into a leaf "retort-engine-PID" there and enables the
 * controllers, so that the limits of a unit bind its boxes too. Otherwise it uses the nearest
 * cgroup above that has them enabled, or else the own one, delegated or not. Beside the leaves it
 * makes "retort-hold-PID.NAMESPACE", which keeps the controllers enabled: a service manager that
 * no longer needs a controller would otherwise disable it, and with it the limits of running
 * boxes. Owns: cgroup_host_close() undoes that.
 */
void cgroup_host_open(struct cgroup_host *host, const char *root, int force);

/* As cgroup_host_open(), but moves, enables and makes nothing: for cgroup_host_sweep() after a
 * warden died. */
void cgroup_host_look(struct cgroup_host *host, const char *root);

/*
 * Undo what cgroup_host_open() changed, once no leaf is left; what other engines still need
 * stays. @host may be zeroed, or opened for a look only.
 */
void cgroup_host_close(struct cgroup_host *host);

/*
 * A name for this warden's leaf number @number: "retort-PID-NUMBER.NAMESPACE". By the name,
 * cgroup_host_sweep() of a later warden finds out whether this warden is dead.
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

/* Does the leaf still exist? The owner of the cgroup above may remove an empty one. */
bool cgroup_leaf_is_there(const struct cgroup_leaf *leaf);

/*
 * v1: open the `tasks` files for the first process to write "0" into, one per hierarchy.
 * v2: open the leaf directory, for CLONE_INTO_CGROUP, into fds[0]. none: nothing.
 * Owns: the caller closes.
 * Returns: how many of @fds were filled, or negative errno with none left open.
 */
int cgroup_leaf_join_fds(const struct cgroup_leaf *leaf, int fds[CGROUP_JOIN_FDS]);

/*
 * v2: move a process into the leaf whose directory @dir is, as join_fds gave it. Owns: the caller
 * closes the returned cgroup.procs. A process that writes "0" to it joins the leaf, even if it
 * could not have opened the file: the kernel checks the opener's rights.
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
 * The same numbers without the leaf, from files that are opened once: either all of its files or,
 * where the kernel does not count everything, no file.
 */
enum { CGROUP_BOOKS_MAX = 5 };
struct cgroup_books {
	enum cgroup_kind kind; /* CGROUP_NONE: no file is open */
	int fds[CGROUP_BOOKS_MAX];
};
/* Owns: the caller closes. Returns: how many there are, which is 0 or cgroup_books_count(). */
int cgroup_leaf_books(const struct cgroup_leaf *leaf, int fds[CGROUP_BOOKS_MAX]);
int cgroup_books_count(enum cgroup_kind kind);
/* Returns: 0, or negative errno with @usage untouched: the leaf is gone. */
int cgroup_books_read(const struct cgroup_books *books, struct box_usage *usage);
void cgroup_books_close(struct cgroup_books *books);

/* Does the kernel count memory, processes and CPU time of the leaf? Then the engine need not
 * count them. */
bool cgroup_leaf_counts_all(const struct cgroup_leaf *leaf);

/* Forbid new processes in the leaf, where pids are counted; existing ones stay. */
void cgroup_leaf_no_forks(const struct cgroup_leaf *leaf);

/*
 * Kill whatever is still in the leaf (v2 cgroup.kill; v1: signal the listed pids), remove it. A
 * leaf that is zeroed or closed is fine.
 * Blocks: not at all when the leaf is empty; otherwise until the last process is gone, at
 * most 200 ms.
 */
void cgroup_leaf_close(struct cgroup_leaf *leaf);

/*
 * Remove the leaves under each base that a dead warden left behind: "retort-PID-…",
 * "retort-hold-PID.…" and "retort-engine-PID" where PID is the warden's and no process named
 * "retort-warden" has it. Only empty leaves go: nothing is killed, so a warden that this /proc
 * does not show loses no box.
 */
void cgroup_host_sweep(const struct cgroup_host *host);
