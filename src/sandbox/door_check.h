/* Whether a descriptor is what a door should give. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "sandbox/wire.h"

/*
 * Check that @fd, opened in the namespaces of a box, is of the kind @what and not of this process's
 * own namespaces. The warden checks what its helper sends, and the engine what the warden sends.
 *
 * Returns: 0, or negative errno. Errors: ERR_PROTOCOL.
 */
int door_check(enum warden_door what, int fd, struct err *err);
