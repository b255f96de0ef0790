/*
 * Landlock as a second line behind namespaces and the syscall filter. Files are left to the mount
 * namespace: a path rule is bound to a directory as it was, and a branch mounts over directories.
 *
 * What is locked, each from the first kernel interface (ABI) that can do it:
 *   2  no device node can be made; renaming and linking across directories stays allowed, by a rule
 *      on "/" (ABI 1 could only forbid it, so nothing is locked there)
 *   5  no ioctl on a device but those under /dev
 *   6  no connection to an abstract unix socket, and no signal, to a process outside the domain
 *
 * A domain contains the caller and the processes that it forks later. Two callers get two
 * domains, each outside the other: two processes that init spawned and that locked themselves can
 * neither signal each other nor connect to each other's abstract sockets, though they share a pid
 * namespace; init can signal both. Where the processes of a box must reach each other, init calls
 * this once before its first spawn, and they share its domain. A branch inherits its parent's
 * domain.
 *
 * Inside a domain mount(2), pivot_root(2) and move_mount(2) fail, so the root must be finished
 * before. Domains nest at most 16 deep: a branch must not add one per generation.
 *
 * Source: landlock(7), https://docs.kernel.org/userspace-api/landlock.html
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct landlock_report {
	int abi; /* 0: the kernel lacks Landlock, or it is disabled */
	bool has_nodes;
	bool has_ioctl;
	bool has_scopes;
};

/* Returns: the kernel's ABI; 0 without Landlock. */
int landlock_abi(void);

/*
 * Lock the calling thread and all it creates later, as far as the kernel can; without Landlock do
 * nothing and report ABI 0. The caller must have set no_new_privs or hold CAP_SYS_ADMIN.
 * Errors: ERR_BOX with the call that failed; nothing is locked then.
 */
int landlock_lock(struct landlock_report *out, struct err *err);
