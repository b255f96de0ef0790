/* SPDX-License-Identifier: Apache-2.0 */
#include "base/netns.h"

#include <stdint.h>
#include <sys/socket.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* since Linux 5.14 */
#endif

/* Get the number of the network namespace of @fd, which no other one gets before the next boot. */
static bool get_cookie(int fd, uint64_t *out)
{
	socklen_t bytes = sizeof *out;
	return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, out, &bytes) == 0;
}

bool netns_is_same(int a, int b)
{
	uint64_t of_a, of_b;
	return get_cookie(a, &of_a) && get_cookie(b, &of_b) && of_a == of_b;
}
