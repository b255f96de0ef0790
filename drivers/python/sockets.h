/*
 * Create the pipes and sockets of a process again in its branches, with their unread data, so that
 * event loops continue to work. This is possible for pipes and sockets with both ends in the
 * process, and for sockets that listen or are not connected. It is not possible for a connection to
 * another process or to the engine. Needs libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Find the pairs of connected descriptors. The kernel does not tell which sockets belong together,
 * so a probe byte is sent and removed again. Must be called before the clone, when no process of
 * the box runs code. @own are descriptors to the engine, which are skipped.
 *
 * If other processes of the box run on, one of them could read the probe byte. Then pass the known
 * pairs of sockets as @known, which has two descriptors for each pair: no other pairs of sockets
 * are found, and no byte is sent. NULL: send probe bytes.
 */
void sockets_find(const int *own, size_t n_own, const int *known, size_t n_known);

/*
 * In a branch, create the replacement of @fd, whose status is @st. Returns: a new descriptor, or -1
 * if @fd cannot be replaced.
 */
int sockets_renew(int fd, const struct stat *st);

/* In a branch, return the number of sockets that were created without their unread datagrams. */
unsigned sockets_dropped(void);

/* Return whether @fd is a pipe or socket whose peer is gone and that has no unread data. */
bool sockets_is_over(int fd, const struct stat *st);

/* Return whether @fd is a new descriptor that sockets_renew() keeps open until sockets_done(). */
bool sockets_has(int fd);

void sockets_done(void);
