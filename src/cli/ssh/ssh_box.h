/* What `retort ssh-proxy` starts in the box. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/ssh/ssh_keys.h"

#include <jansson.h>
#include <stdbool.h>

/* Exit status of the process in the box if there is no sshd. */
enum { SSH_BOX_NO_SSHD = 127 };

/*
 * Return the parameters of process.start for an sshd that serves one connection on its stdin and
 * stdout, and reports errors on its stderr, with @is_verbose everything.
 * Owns: the caller decrefs.
 */
json_t *ssh_box_params(const char *session, const struct ssh_keys *keys, bool is_verbose);
