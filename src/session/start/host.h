/* What this host has of the mechanisms that a box is made of. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/*
 * OK       works
 * WEAK     works in part, or something else does its job: `instead` says what
 * MISSING  no box without it: `hint` says how to get it
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

/* How many checks there are; host_check() fills the @i-th. Blocks: some milliseconds each. */
size_t host_n_checks(void);
void host_check(size_t i, struct host_check *out);

/* How retort gets a cgroup that it may write to, on this host. */
const char *host_cgroup_hint(void);
