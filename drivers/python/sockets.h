/*
 * Pipes and sockets of a process that is branched. Those whose two ends are both in the process,
 * and those that listen or are not connected, are made anew in each branch, with what had not been
 * read yet; so event loops go on. What leads to another process, or to an engine, cannot be. libc
 * only. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * In the process that is to be branched, the only one of its box that runs code: find which
 * descriptors belong together. The kernel does not tell which socket is the other end of one: a
 * byte is sent and taken out again. @own: descriptors that lead to the engine, which are left
 * alone.
 */
void sockets_find(const int *own, size_t n_own);

/* In a branch: what is to take the place of @fd, of which fstat() says @st. Returns: a new
 * descriptor, or -1 when there is no such thing here. */
int sockets_renew(int fd, const struct stat *st);

/* In a branch: how many were made anew without the datagrams that nobody had read. */
unsigned sockets_dropped(void);

/* Does the pipe or socket @fd lead nowhere, with nothing left to be read? Of others: false. */
bool sockets_is_over(int fd, const struct stat *st);

/* Is @fd one that sockets_renew() keeps open until sockets_done()? */
bool sockets_has(int fd);

void sockets_done(void);
