/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tcp.h"

#include "base/attr.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum { IDLE_S = 30, EACH_S = 10, TRIES = 3 };

void tcp_set_options(int fd)
{
	static const struct {
		int level, name, value;
	} rows[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, EACH_S},
		{IPPROTO_TCP, TCP_KEEPCNT, TRIES},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, 1000 * (IDLE_S + TRIES * EACH_S)},
		{IPPROTO_TCP, TCP_NODELAY, 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		(void)setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value, sizeof(int));
}

uint64_t tcp_heard_bytes(int fd)
{
	struct tcp_info info = {0};
	socklen_t bytes = sizeof info;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) < 0)
		return 0;
	return info.tcpi_bytes_received;
}

bool tcp_has_left(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}
