/* What a helper program gives up before it reads its first message: privileges, and system calls.
 * Linked into the helper, not into the engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How an argument is compared with a value. All but HELPER_IS_ZERO look at its low half only, so
 * they are no check of a pointer. */
enum helper_check {
	HELPER_HAS_NONE_OF,
	HELPER_HAS_ANY_OF,
	HELPER_HAS_ALL_OF,
	HELPER_IS,
	HELPER_IS_ZERO
};

/* A system call that is allowed if one of its arguments, counted from 0, fits. */
struct helper_call {
	uint32_t call;
	unsigned char argument;
	enum helper_check check;
	uint32_t value;
};

/* A system call that fails with @sys, an errno. */
struct helper_refused {
	uint32_t call;
	uint16_t sys;
};

/* Which system calls a helper may make. All others fail with ENOSYS, as on a kernel that lacks
 * them. */
struct helper_calls {
	const uint32_t *allowed;
	size_t n_allowed;
	/* Rows for the same call are alternatives. */
	const struct helper_call *checked;
	size_t n_checked;
	/* instead of ENOSYS, when no row of @checked fits */
	const struct helper_refused *refused;
	size_t n_refused;
	/* If one of these fits, the call fails with EPERM, whatever allows it. */
	const struct helper_call *forbidden;
	size_t n_forbidden;
};

/* Drop all capabilities, and the ways to gain some; let no other process look into this one.
 * Returns: 0, or negative errno. */
int helper_lock_privileges(void);

/* Filter the system calls of the calling thread and those that it starts. After
 * helper_lock_privileges(). A call for another architecture kills the process.
 * Returns: 0; -E2BIG for too many rows; or another negative errno. */
int helper_lock_calls(const struct helper_calls *calls);
