/*
 * Create epoll instances and eventfds again, from their description in /proc. Needs libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/*
 * Create an epoll instance that watches the same descriptor numbers as @old, which may lead to
 * other files now. Returns: a file descriptor, or -1.
 */
int epoll_renew(int old);

/* Create an eventfd with the count and flags of @old. Returns: a file descriptor, or -1. */
int eventfd_renew(int old);
