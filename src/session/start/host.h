/* Checks which mechanisms for boxes this host has. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/*
 * OK       The mechanism works.
 * WEAK     The mechanism works only in part, or `instead` is used in its place.
 * MISSING  The mechanism does not work, and boxes need it. `hint` tells how to get it.
 */
enum host_state { HOST_OK, HOST_WEAK, HOST_MISSING };

enum { HOST_TEXT_BYTES = 256 };

struct host_check {
	const char *name; /* name of the mechanism, such as "user namespaces" */
	enum host_state state;
	char what[HOST_TEXT_BYTES];    /* result of the check, a text for the user */
	char instead[HOST_TEXT_BYTES]; /* what is used in place of the mechanism, or "" */
	char hint[HOST_TEXT_BYTES];    /* advice for the user, or "" */
};

/* host_n_checks() returns the number of checks. host_check() makes check @i. Blocks: some
 * milliseconds for each check. */
size_t host_n_checks(void);
void host_check(size_t i, struct host_check *out);

/* Return a hint that tells how to give retort a writable cgroup on this host. */
const char *host_cgroup_hint(void);
