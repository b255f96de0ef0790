/*
 * Recreates epoll instances and eventfds from their description in /proc. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/*
 * Create an epoll instance that watches the same descriptor numbers as @old, with the files that
 * are open there now. Returns: a descriptor, or -1.
 */
int epoll_renew(int old);

/* Create an eventfd with the count of @old. Returns: a descriptor, or -1. */
int eventfd_renew(int old);
