/* Listing the processes that a /proc shows. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_entry {
	pid_t pid, ppid;
	char name[16];	  /* of the program, as ps shows it */
	char state;	  /* from `stat`: R, S, D, T, Z… */
	bool is_nested;	  /* in a pid namespace below that of this /proc */
	bool is_child_ns; /* in a pid namespace directly below that of this /proc */
	bool is_first;	  /* process 1 of its own pid namespace */
	/* the last thread has ended or is ending, so the process runs no more code of its own */
	bool is_over;
	uint64_t start_ticks; /* start time in clock ticks since the host booted */
	uint64_t cpu_ticks;   /* CPU time of the process and of its reaped children */
	uint64_t rss_pages;   /* resident memory */
};

/* Parse the line NSpid of a `status` file. It lists the pids of the process: one for each pid
 * namespace, from this /proc's down to the process's own. *@n becomes the number of pids, and
 * *@last the last one. Returns: false if the line is missing. */
bool proc_nspid(const char *status, unsigned *n, uint64_t *last);

/*
 * Read the entry of process @pid in the /proc at @proc_fd.
 * Returns: 0, or negative errno if the process is gone.
 * Source: proc_pid_stat(5), proc_pid_status(5).
 */
int proc_entry_read(struct proc_entry *out, int proc_fd, pid_t pid);

/* Call @visit for each process except process 1, until @visit returns false. Processes that start
 * or end meanwhile may be missed. Returns: how many of those that /proc listed had ended when they
 * were read, whether they could be visited or not; or negative errno if another one may be missing,
 * too, because it could not be read. */
typedef bool proc_visit_fn(void *arg, const struct proc_entry *entry);
int proc_list(int proc_fd, proc_visit_fn *visit, void *arg);

/* One reading of a /proc by somebody who looks for certain processes. */
struct proc_reading {
	pid_t before, after; /* the last pid that was assigned when the reading began, and ended */
	bool has_ended;	     /* some of the listed processes had ended when they were read */
	int n;		     /* how many of those looked for it found; 0 or more */
};

/*
 * Return whether the reading @now proves that nobody is left, with the help of @last, which is an
 * earlier reading.
 *
 * That a reading finds nobody proves nothing if processes ended meanwhile, even if no pid was
 * assigned: /proc was listed while one of them was forking, so the list lacks the child, and the
 * process ended before its own entry was read. But two such readings are a proof if no pid was
 * assigned from the beginning of the first to the end of the second. If somebody is alive and was
 * missing from the second list, then the process that made it was still forking at the time of that
 * list, so the first reading would have found that process.
 */
bool proc_is_deserted(const struct proc_reading *now, const struct proc_reading *last);
