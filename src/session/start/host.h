/* Checks which mechanisms for boxes this host has. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/*
 * OK       The mechanism works.
 * WEAK     It works in part, or `instead` names its replacement.
 * MISSING  Boxes need it; `hint` tells how to get it.
 */
enum host_state { HOST_OK, HOST_WEAK, HOST_MISSING };

enum { HOST_TEXT_BYTES = 256 };

struct host_check {
	const char *name; /* name of the mechanism, such as "user namespaces" */
	enum host_state state;
	char what[HOST_TEXT_BYTES];    /* result of the check */
	char instead[HOST_TEXT_BYTES]; /* replacement in use, or "" */
	char hint[HOST_TEXT_BYTES];    /* advice for the user, or "" */
};

/* Return the number of checks; host_check() runs the @i-th. Blocks: some milliseconds each. */
size_t host_n_checks(void);
void host_check(size_t i, struct host_check *out);

/* Return a hint how to give retort a writable cgroup on this host. */
const char *host_cgroup_hint(void);
