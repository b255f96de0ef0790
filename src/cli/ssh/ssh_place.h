/* Finds where the keys for ssh to a session are. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

enum { SSH_HOST_BYTES = 64 };

/* A session as ssh sees it. */
struct ssh_place {
	/* Its name; or its id, if it has no name, or ssh and shells do not take the name as it is.
	 * It is also the last part of `dir`. */
	char host[SSH_HOST_BYTES];
	char session[SSH_HOST_BYTES]; /* its id */
	char socket[PATH_MAX];	      /* of its engine, absolute */
	char dir[PATH_MAX];	      /* the directory of its keys; may not exist */
	/* `dir` has only directories of this engine's sessions beside it. */
	bool is_among_others;
};

/*
 * Describe a session. @asked: the word by which it was asked for. @about: what session.get says
 * about it.
 * @socket: the option --socket, or
 * NULL. @dir: the directory of its keys; NULL: STATE/ssh/ENGINE/HOST, where ENGINE is a digest of
 * the socket's path.
 * Errors: those of xdg_state_dir(); ERR_USAGE: a path is too long, or not one for ssh's files;
 * ERR_DENIED: @asked is the name of another caller's session. Whoever has a session may name it as
 * it likes, so a name must not lead from one caller's session to another's.
 */
int ssh_place_find(struct ssh_place *out, const char *asked, const json_t *about,
	const char *socket, const char *dir, struct err *err);

/* Whether ssh, shells and file systems take @name as it is. */
bool ssh_place_is_plain(const char *name);
