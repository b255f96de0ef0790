/*
 * The network of a box, made by a helper in the box's network namespace.
 *
 * Theory of operation. A route of type "local" makes each address of a network an address of the
 * namespace, as 127.0.0.0/8 is. A program that connects to such an address reaches a listener that
 * is bound to that address or to every address. So the listeners that the helper opens get the
 * connections, and getsockname(2) on an accepted one tells which address the program meant.
 *
 * No program of the box can bind a second socket to the address of one of these and get what is
 * meant for it. They do not have SO_REUSEPORT. A listener has SO_REUSEADDR, which lets it be opened
 * while connections of a former one still end; but where a TCP socket listens, no other can be
 * bound, whatever its options. The resolver does not have it: with UDP, it would let a program in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "sandbox/warden/door_net.h"

#include "base/fd.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* BACKLOG: connections that wait for the gateway. LOOPBACK_INDEX: of `lo` in every network
 * namespace. */
enum { BACKLOG = 256, LOOPBACK_INDEX = 1 };

/* ---- addresses ---- */

/* The kernel's message for a route. Its parts are aligned, so they follow each other as here. */
struct route_request {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr to_head;
	uint32_t to; /* in network byte order */
	struct rtattr device_head;
	uint32_t device;
};
static_assert(sizeof(struct route_request) ==
		NLMSG_LENGTH(sizeof(struct rtmsg)) + 2 * RTA_SPACE(sizeof(uint32_t)),
	"no bytes between the parts");

/* Ask for a route, and wait for the kernel's answer, which it gives within send(2). */
static int add_network(int netlink, uint32_t ip, uint32_t bits)
{
	const struct route_request req = {
		.head = {.nlmsg_len = sizeof req,
			.nlmsg_type = RTM_NEWROUTE,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL},
		.route = {.rtm_family = AF_INET,
			.rtm_dst_len = (unsigned char)bits,
			.rtm_table = RT_TABLE_LOCAL,
			.rtm_protocol = RTPROT_STATIC,
			.rtm_scope = RT_SCOPE_HOST,
			.rtm_type = RTN_LOCAL},
		.to_head = {RTA_LENGTH(sizeof(uint32_t)), RTA_DST},
		.to = htonl(ip),
		.device_head = {RTA_LENGTH(sizeof(uint32_t)), RTA_OIF},
		.device = LOOPBACK_INDEX,
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr said;
		char more[256]; /* the kernel may add the request or a text */
	} reply;
	if (send(netlink, &req, sizeof req, 0) < 0)
		return -errno;
	ssize_t n = recv(netlink, &reply, sizeof reply, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	if (n < (ssize_t)NLMSG_LENGTH(sizeof reply.said) || reply.head.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return reply.said.error == -EEXIST ? 0 : reply.said.error;
}

static int add_networks(const struct warden_net *net, struct err *err)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	/* A connected netlink socket takes messages from the kernel only. */
	if (fd < 0 || connect(fd, (const struct sockaddr *)&kernel, sizeof kernel) < 0)
		return err_sys(err, ERR_BOX, errno, "configure the network of the box");
	int r = add_network(fd, WARDEN_NET_IP, WARDEN_NET_BITS);
	for (uint32_t i = 0; r == 0 && i < net->n_networks; i++)
		r = add_network(fd, net->networks[i].ip, net->networks[i].bits);
	return r == 0 ? 0 : err_sys(err, ERR_BOX, -r, "give the box an address");
}

/* ---- sockets ---- */

static int bind_to(int fd, uint32_t ip, uint32_t port)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(ip)};
	return bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 ? -errno : 0;
}

static int open_resolver(void)
{
	cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : bind_to(fd, WARDEN_RESOLVER_IP, WARDEN_RESOLVER_PORT);
	return r < 0 ? r : take_fd(fd);
}

static int open_listener(const struct warden_listener *at)
{
	const int on = 1;
	cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
		return -errno;
	int r = bind_to(fd, at->ip, at->port);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	return r < 0 ? r : take_fd(fd);
}

/* Take @fd as the socket of number @i; a negative errno, if it could not be opened. */
static int take_socket(struct door_opened *out, size_t i, int fd, uint32_t port, struct err *err)
{
	if (fd == -EADDRINUSE)
		return 0;
	if (fd < 0)
		return err_sys(err, ERR_BOX, -fd, "open port %u in the box", port);
	out->fds[out->n++] = fd;
	out->mask |= UINT32_C(1) << i;
	return 0;
}

int door_net_open(const struct warden_net *net, struct door_opened *out, struct err *err)
{
	size_t n = 0;
	int r = add_networks(net, err);
	if (r == 0 && net->has_resolver)
		r = take_socket(out, n++, open_resolver(), WARDEN_RESOLVER_PORT, err);
	for (uint32_t i = 0; r == 0 && i < net->n_listeners; i++) {
		const struct warden_listener *at = &net->listeners[i];
		r = take_socket(out, n++, open_listener(at), at->port, err);
	}
	return r;
}
