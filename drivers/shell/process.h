/*
 * Facts about a shell that the shell's own report lacks and that the kernel shows in /proc.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

struct process {
	unsigned n_descriptors; /* number of open file descriptors */
	bool is_homeless;	/* the shell's current directory has been removed */
};

/* Inspect the shell @pid. A shell that has ended but was not yet reaped has no descriptors. */
void process_look(struct process *out, pid_t pid);

/*
 * Append `ulimit` commands that give another shell the resource limits of @pid. Limits that equal
 * those of this process are left out. Returns: 0, or negative errno.
 */
int process_limits(struct buf *out, pid_t pid);
