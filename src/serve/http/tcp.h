/* Properties of a client's connection, from the kernel. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Set the options of a client's socket: detect clients that vanish silently, and send small
 * responses at once. */
void tcp_set_options(int fd);

/* Return the number of bytes received so far, unread bytes included. */
uint64_t tcp_heard_bytes(int fd);

/* Has the client shut down its side, or closed the connection? */
bool tcp_has_left(int fd);
