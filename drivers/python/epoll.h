/*
 * Copies of epoll instances and eventfds, made from what /proc tells of them. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/*
 * A new epoll instance that watches the same descriptor numbers, whatever is open there now.
 * Returns: a descriptor, or -1.
 */
int epoll_renew(int old);

/* A new eventfd with the same count. Returns: a descriptor, or -1. */
int eventfd_renew(int old);
