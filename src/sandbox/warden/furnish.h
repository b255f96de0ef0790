/* The helper process that completes the new namespaces of a branch. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "sandbox/warden/inside.h"

struct furnish {
	pid_t pid; /* the helper's pid; 0 if it does not run */
	int sock;  /* readable when the helper has sent its result or has ended */
};

/* Initial value of a struct furnish: no helper process runs. */
#define FURNISH_NONE                                                                               \
	(struct furnish)                                                                           \
	{                                                                                          \
		.sock = -1                                                                         \
	}

/* Return whether C1, the branch's first process, must not clone the driver before the helper has
 * finished: the helper moves C1 into its cgroup, or gives it a new root. */
bool furnish_is_first(const struct making *m);

/*
 * Start the helper for process @c1, whose pidfd is @c1_fd, and do not wait for the helper. It
 * enters the namespaces of @c1 and sets up there what child_main() sets up in a new box. It copies
 * the parent's files. If @m has a workspace on the host, the parent's workspace is not copied.
 * Errors: ERR_BOX.
 */
int furnish_start(struct furnish *f, const struct making *m, pid_t c1, int c1_fd, struct err *err);

/*
 * Read the helper's result when its socket is readable. The helper has then ended.
 * Fills:   @fds with SEEN_PROC, SEEN_WORKSPACE, SEEN_STORE: the caller owns them.
 * Errors:  those of the step that failed; ERR_GONE if C1 has ended; ERR_BOX if the helper died.
 */
int furnish_result(struct furnish *f, int fds[SEEN_LISTENER], struct err *err);

/* Kill the helper, if it runs. Blocks: until the kernel has ended it. */
void furnish_stop(struct furnish *f);
