/* The processes that a /proc shows. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_entry {
	pid_t pid, ppid;
	char state;	  /* as in stat: R, S, D, T, Z… */
	bool is_nested;	  /* in a pid namespace below that of this /proc */
	bool is_child_ns; /* in one right below */
	bool is_first;	  /* process 1 of its own pid namespace */
	bool is_over;	  /* its last thread is ending, or has: it runs no more of its program */
	uint64_t start_ticks; /* since the host started */
};

/* NSpid of a `status`: how many numbers it has, and the last. False when there is none. */
bool proc_nspid(const char *status, unsigned *n, uint64_t *last);

/*
 * Look at one process of the /proc at @proc_fd.
 * Returns: 0, or negative errno: it is gone. Source: proc_pid_stat(5), proc_pid_status(5).
 */
int proc_entry_read(struct proc_entry *out, int proc_fd, pid_t pid);

/*
 * Call @visit for each process but process 1 until it returns false. One that comes or goes
 * meanwhile may be missed. Returns: 0, or negative errno.
 */
typedef bool proc_visit_fn(void *arg, const struct proc_entry *entry);
int proc_list(int proc_fd, proc_visit_fn *visit, void *arg);
