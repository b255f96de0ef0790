/* The helper process that completes the new namespaces of a branch. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "sandbox/warden/inside.h"

struct furnish {
	pid_t pid; /* the helper's pid; 0: it does not run */
	int sock;  /* readable when it has something to say, or has ended */
};

/* Initialise: the helper does not run. */
#define FURNISH_NONE                                                                               \
	(struct furnish)                                                                           \
	{                                                                                          \
		.sock = -1                                                                         \
	}

/* Does the helper move the first process into its cgroup? Until then it must not be copied. */
bool furnish_must_move(const struct making *m);

/*
 * Start the helper for process @c1, with @c1_fd a descriptor of that process. The helper enters
 * all of @c1's namespaces and sets up there what child_main() sets up in a new box; the parent's
 * files are copied unless @m brings a workspace. The warden goes on meanwhile.
 * Errors: ERR_BOX.
 */
int furnish_start(struct furnish *f, const struct making *m, pid_t c1, int c1_fd, struct err *err);

/*
 * Read the helper's result when its socket is readable; the helper has then ended.
 * Fills:   @fds with SEEN_PROC, SEEN_WORKSPACE, SEEN_STORE: the caller owns them.
 * Errors:  those of the step that failed; ERR_BOX when it died.
 */
int furnish_result(struct furnish *f, int fds[SEEN_LISTENER], struct err *err);

/* Kill the helper, if there is one. Blocks: until the kernel has ended it. */
void furnish_stop(struct furnish *f);
