/* Connecting to one of several addresses. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/process/inside.h"

enum { RACE_NEXT_MS = 300, RACE_MS = 10000 };

struct race;

/* @fd: the connected socket, which the callee takes, and the address of its other end; or -1 and
 * the errno of the last attempt, ETIMEDOUT after RACE_MS. */
typedef void race_done_fn(void *arg, int fd, const struct ip *ip, int sys);

/*
 * Connect to @port of one of @n addresses, 1 to ADDRESSES_MAX. The next one is tried when one has
 * failed, or has not answered for RACE_NEXT_MS; the first to answer wins.
 * Returns: the race, valid until @done is called from the loop; NULL if it was called already.
 */
struct race *race_start(struct service *s, const struct ip *ips, size_t n, uint16_t port,
	race_done_fn *done, void *arg);
/* End the attempts. @done is not called. */
void race_stop(struct race *r);
