/* Makes and reads the keys for ssh to a session. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/host/client.h"
#include "cli/ssh/ssh_place.h"

/* Names of files in the directory of a session's keys. ssh reads the first two. */
#define SSH_KEYS_LOGIN "id"
#define SSH_KEYS_KNOWN "known_hosts"
/* The name by which SSH_KEYS_KNOWN lists the session. */
#define SSH_KEYS_ALIAS "retort"

enum { SSH_KEYS_MAX_BYTES = 4096 };

/* What sshd needs. Owns: the caller calls buf_done() for both. */
struct ssh_keys {
	struct buf host;  /* the private key of the host, which is the box */
	struct buf login; /* the public key of who may log in */
};

/*
 * Read the keys of the session @place from its directory. If they were made for another session, or
 * are missing, make them, with the host's ssh-keygen, and remove those of this engine's sessions
 * that are gone.
 * Blocks: while another process makes keys for a session of this engine.
 * Errors: ERR_NOT_FOUND with a hint: there is no ssh-keygen; those of xdg_make_dir(); ERR_IO.
 */
int ssh_keys_need(struct ssh_keys *out, const struct ssh_place *place, struct client *client,
	struct err *err);

/* Remove the keys in @dir, and @dir itself, unless it has other files. */
void ssh_keys_forget(const char *dir);
