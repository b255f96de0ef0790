/* Validation of requests to the warden. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

/*
 * Check everything in a request that does not depend on the warden's state: version, operation,
 * limits in range, texts terminated, a bind's kind and destination.
 *
 * Returns: 0, or negative errno. Errors: ERR_PROTOCOL, ERR_USAGE.
 */
int message_check(const struct warden_request *req, struct err *err);
