/* What the kernel knows of a client's connection. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Find out who has vanished without a word, and send small answers at once. */
void tcp_set_options(int fd);

/* Bytes that have come so far, read or not. */
uint64_t tcp_heard_bytes(int fd);

/* Has the client said its last, or is it gone? */
bool tcp_has_left(int fd);
