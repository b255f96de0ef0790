/*
 * What boxes with rules for requests trust: an authority of the engine's own, and a directory of
 * certificates that they see in the place of the host's. Both are made when the first such box is,
 * and end with the engine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/authority.h"

#include <limits.h>
#include <stdbool.h>

/* Where boxes see the directory. */
#define TRUST_DIR    "/etc/ssl/certs"
#define TRUST_BUNDLE TRUST_DIR "/ca-certificates.crt"

struct trust {
	struct authority authority;
	char dir[PATH_MAX];
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
