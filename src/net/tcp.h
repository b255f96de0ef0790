/* What the kernel knows about a client's TCP connection. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Set options of a client's socket: keepalive, so that a client that vanished is noticed; and no
 * delay for small responses. */
void tcp_set_options(int fd);

/* Return the number of bytes that the client has sent, including those that nobody has read yet. */
uint64_t tcp_heard_bytes(int fd);

/* Return whether the client has shut down its sending side, or closed the connection. */
bool tcp_has_left(int fd);
