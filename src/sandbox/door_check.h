/* Whether descriptors are what a door should give. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

#include <stdbool.h>

/* Put the @n descriptors in @fds at the places of the bits that are set in @opened, and -1 at all
 * other places. Returns: false if there are not so many bits; @fds is then unchanged. */
bool door_spread(int fds[WARDEN_FDS_MAX], size_t n, uint32_t opened);

/*
 * Check that @fds, opened in the namespaces of a box, are of the kind @what, in the order asked
 * for, and not of this process's own namespaces. @net is what was asked of WARDEN_DOOR_NET; one of
 * its sockets may be -1. The warden checks what its helper sends, and the engine what the warden
 * sends.
 *
 * Returns: 0, or negative errno. Errors: ERR_PROTOCOL.
 */
int door_check(enum warden_door what, const struct warden_net *net, const int fds[WARDEN_FDS_MAX],
	struct err *err);
