/* Which mechanisms for boxes this host has. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/*
 * OK       works
 * WEAK     works in part, or something else does its job: `instead` says what
 * MISSING  boxes need it: `hint` says how to get it
 */
enum host_state { HOST_OK, HOST_WEAK, HOST_MISSING };

enum { HOST_TEXT_BYTES = 256 };

struct host_check {
	const char *name; /* "user namespaces" */
	enum host_state state;
	char what[HOST_TEXT_BYTES];    /* what was found */
	char instead[HOST_TEXT_BYTES]; /* what is used in its place, or empty */
	char hint[HOST_TEXT_BYTES];    /* what to do, or empty */
};

/* The number of checks; host_check() makes the @i-th. Blocks: some milliseconds each. */
size_t host_n_checks(void);
void host_check(size_t i, struct host_check *out);

/* How to give retort a cgroup that it may write to, on this host. */
const char *host_cgroup_hint(void);
