/* Checks of requests to the warden. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

/*
 * Check what does not depend on the warden's state: the version, flags and operation; the range of
 * the limits; the kind, source and destination of a bind; the addresses of a network.
 *
 * Returns: 0, or negative errno. Errors: ERR_PROTOCOL, ERR_USAGE.
 */
int message_check(const struct warden_request *req, struct err *err);
