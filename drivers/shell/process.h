/* What the kernel has of a shell, and its own report does not. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

struct process {
	unsigned n_descriptors; /* open ones */
	bool is_homeless;	/* its directory has been removed */
};

/* Of the shell @pid; one that has ended and is not waited for has no descriptors. */
void process_look(struct process *out, pid_t pid);

/* Append the commands that give another shell the limits (`ulimit`) of @pid: those that are not
 * this process's own. Returns: 0, or negative errno. */
int process_limits(struct buf *out, pid_t pid);
