/*
 * What boxes with rules for requests trust: an authority of the engine's own, and a directory of
 * certificates that they see in the place of the host's. Both are made when the first such box is,
 * and end with the engine. The directory of an engine that was killed stays, until the next engine
 * of the same user makes one in the same place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/authority.h"

#include <limits.h>
#include <stdbool.h>

struct trust {
	struct authority authority;
	char dir[PATH_MAX]; /* "": none */
	int dir_fd;	    /* holds the lock that says that @dir is in use */
	bool is_made;
};

/* Make the authority and its directory, unless they are there. Errors: ERR_IO, ERR_NOT_FOUND (a
 * library is missing), ERR_INTERNAL. */
int trust_make(struct trust *t, struct err *err);
/* Remove the directory, and wipe the key. */
void trust_done(struct trust *t);

/* Environment variables that name the bundle, for programs that do not look where it is: strings
 * NAME=VALUE, ended by NULL. */
extern const char *const trust_environment[];
