/* Properties of a client's connection, from the kernel. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Detect clients that vanished silently, and send small answers at once. */
void tcp_set_options(int fd);

/* Bytes received so far, also those that were not read yet. */
uint64_t tcp_heard_bytes(int fd);

/* Has the client shut down its side, or closed the connection? */
bool tcp_has_left(int fd);
