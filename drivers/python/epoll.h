/* Epoll instances and eventfds made anew, from what the kernel says of them. libc only.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One that watches the same numbers, whatever they have become. Returns: a descriptor, or -1. */
int epoll_renew(int old);

/* One with the same count. Returns: a descriptor, or -1. */
int eventfd_renew(int old);
