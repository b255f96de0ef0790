/* The processes that a /proc shows. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_entry {
	pid_t pid, ppid;
	char state;	  /* as in stat: R, S, D, T, Z… */
	bool is_nested;	  /* the process is in a pid namespace below that of this /proc */
	bool is_child_ns; /* in one right below */
	bool is_first;	  /* process 1 of its own pid namespace */
	/* its last thread has ended or is ending: it runs none of its code any more */
	bool is_over;
	uint64_t start_ticks; /* since the host started */
};

/* Parse NSpid in a `status` file: the number of pids and the last one. Returns: false without
 * such a line. */
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
