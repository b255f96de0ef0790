/*
 * Landlock, a second line of defence behind namespaces and the syscall filter. It does not restrict
 * access to files. The mount namespace does that, because a Landlock rule for a path is bound to
 * the directory that was there when the rule was made, and a branch mounts over directories.
 *
 * What is locked, and the first kernel interface (ABI) that can do it:
 *   2  device nodes cannot be made. Renaming and linking across directories stays allowed, by a
 *      rule on "/". (ABI 1 forbids both in any case, so with ABI 1 nothing is locked.)
 *   5  ioctl() on devices is refused, except below /dev.
 *   6  no signal can be sent to a process outside the domain, and no connection made to its
 *      abstract unix sockets.
 *
 * A domain contains the caller and the processes that it forks later. Two callers get two domains,
 * and each is outside the other. For example, two processes that init spawned and that locked
 * themselves can neither signal each other nor connect to each other's abstract sockets, though
 * they share a pid namespace; init can signal both. If the processes of a box must reach each
 * other, init calls landlock_lock() once before its first spawn, and they share its domain. A
 * branch inherits its parent's domain.
 *
 * Inside a domain mount(2), pivot_root(2) and move_mount(2) fail, so the root must be finished
 * before. Domains nest at most 16 deep, so a branch must not enter one more.
 *
 * Source: landlock(7), https://docs.kernel.org/userspace-api/landlock.html
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct landlock_report {
	int abi; /* 0 if the kernel lacks Landlock or has disabled it */
	bool has_nodes;
	bool has_ioctl;
	bool has_scopes;
};

/* Return the kernel's ABI of Landlock, or 0 without Landlock. */
int landlock_abi(void);

/*
 * Lock the calling thread and all it creates later, as far as the kernel can. Before ABI 2, lock
 * nothing and report has_… as false. @has_image: lock only signals and sockets, since a branch of a
 * box with an image gets another root. The caller must have set no_new_privs or hold CAP_SYS_ADMIN.
 * Errors: ERR_BOX with the call that failed; nothing is locked then.
 */
int landlock_lock(bool has_image, struct landlock_report *out, struct err *err);
