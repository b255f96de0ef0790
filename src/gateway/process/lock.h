/* Take from the gateway what it does not need, before it reads its first message.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Drop all capabilities, limit what files can be read and which system calls can be made, all for
 * good. The process can still look up names, connect, and start threads.
 * @max_fds: set to the number of descriptors that it can have.
 * Returns: 0; negative errno, after which the process must exit.
 */
int gateway_lock(const char *authorities, size_t *max_fds);
