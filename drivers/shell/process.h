/*
 * The kernel's view of a shell: what the shell's own report does not contain.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

struct process {
	unsigned n_descriptors; /* number of open descriptors */
	bool is_homeless;	/* its current directory has been removed */
};

/* Inspect the shell @pid. A shell that has ended but was not reaped has no descriptors. */
void process_look(struct process *out, pid_t pid);

/*
 * Append commands (`ulimit`) that give another shell the limits of @pid, where they differ from
 * this process's own. Returns: 0, or negative errno.
 */
int process_limits(struct buf *out, pid_t pid);
