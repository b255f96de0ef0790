/* The network of a box: its addresses and listening sockets. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/door.h"

/*
 * Give the caller's network namespace the addresses of @net, and open its sockets there. A socket
 * whose port is taken is left out of @out.
 * Owns:   on failure, the caller closes what is in @out.
 * Errors: ERR_BOX.
 */
int door_net_open(const struct warden_net *net, struct door_opened *out, struct err *err);
