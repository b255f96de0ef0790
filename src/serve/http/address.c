/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/address.h"

#include "base/fd.h"
#include "base/num.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { BACKLOG = 128, HOST_BYTES = 64, PORT_MAX = 65535 };

static int bad(struct err *err, const char *text)
{
	return err_fail(err, ERR_USAGE, "127.0.0.1:8765, [::1]:8765, or 8765 alone",
		"--listen \"%.100s\" is not an address and port", text);
}

/* Set @out to the IP address @host and the port. Returns: false if @host is not an IP address. */
static bool take_host(const char *host, bool is_bracketed, uint16_t port, struct address *out)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	if (is_bracketed && inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		memcpy(&out->room, &v6, sizeof v6);
		out->bytes = sizeof v6;
		return true;
	}
	if (is_bracketed || inet_pton(AF_INET, host, &v4.sin_addr) != 1)
		return false;
	memcpy(&out->room, &v4, sizeof v4);
	out->bytes = sizeof v4;
	return true;
}

int address_parse(const char *text, struct address *out, struct err *err)
{
	char host[HOST_BYTES];
	uint64_t port;
	struct err inner;
	const char *colon = strrchr(text, ':');
	const char *digits = colon ? colon + 1 : text;
	if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
		return bad(err, text);
	if (num_parse_count(digits, (struct num_range){0, PORT_MAX}, &port, &inner) < 0) {
		(void)err_set(err, ERR_USAGE, "--listen \"%.100s\": port %.20s", text, digits);
		return err_hint(err, "ports go from 0, which chooses one, to %d", PORT_MAX);
	}
	size_t bytes = colon ? (size_t)(colon - text) : 0;
	if (bytes >= sizeof host)
		return bad(err, text);
	memcpy(host, text, bytes);
	host[bytes] = '\0';
	bool is_bracketed = bytes > 2 && host[0] == '[' && host[bytes - 1] == ']';
	if (is_bracketed) {
		host[bytes - 1] = '\0';
		memmove(host, host + 1, bytes - 1);
	}
	if (!colon || strcmp(host, "localhost") == 0)
		(void)strcpy(host, "127.0.0.1");
	else if (bytes == 0)
		(void)strcpy(host, "0.0.0.0");
	*out = (struct address){0};
	if (take_host(host, is_bracketed, (uint16_t)port, out))
		return 0;
	(void)bad(err, text);
	return strchr(host, ':') ? err_hint(err, "brackets around an IPv6 address: [::1]:8765")
				 : err_hint(err, "an IP address; names are not looked up");
}

bool address_is_loopback(const struct address *a)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	if (a->any.sa_family == AF_INET) {
		memcpy(&v4, &a->room, sizeof v4);
		return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	if (a->any.sa_family != AF_INET6)
		return false;
	memcpy(&v6, &a->room, sizeof v6);
	return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

bool address_is_same_host(const struct address *a, const struct address *b)
{
	const struct sockaddr_in *a4 = (const void *)&a->room, *b4 = (const void *)&b->room;
	const struct sockaddr_in6 *a6 = (const void *)&a->room, *b6 = (const void *)&b->room;
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->any.sa_family == AF_INET6 &&
		memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
}

struct address_text address_format(const struct address *a)
{
	struct address_text t = {"?"};
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	char host[INET6_ADDRSTRLEN] = "";
	if (a->any.sa_family == AF_INET) {
		memcpy(&v4, &a->room, sizeof v4);
		(void)inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
		snprintf(t.text, sizeof t.text, "%s:%u", host, ntohs(v4.sin_port));
	} else if (a->any.sa_family == AF_INET6) {
		memcpy(&v6, &a->room, sizeof v6);
		(void)inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
		snprintf(t.text, sizeof t.text, "[%s]:%u", host, ntohs(v6.sin6_port));
	}
	return t;
}

int address_of(int fd, struct address *out)
{
	struct address a = {.bytes = sizeof a.room};
	if (getsockname(fd, &a.any, &a.bytes) < 0)
		return -errno;
	*out = a;
	return 0;
}

static int fail(const struct address *a, int sys, struct err *err)
{
	const struct address_text text = address_format(a);
	const char *where = text.text;
	switch (sys) {
	case EADDRINUSE:
		err_fail_sys(err, ERR_LIMIT, sys,
			"another server listens there: choose another port, or 0", "%s is in use",
			where);
		break;
	case EACCES:
	case EPERM:
		err_fail_sys(err, ERR_ACCESS, sys, "ports below 1024 are root's: choose another",
			"no permission to listen at %s", where);
		break;
	case EADDRNOTAVAIL:
		err_fail_sys(err, ERR_NOT_FOUND, sys,
			"127.0.0.1 is this host only, 0.0.0.0 all its addresses",
			"%s is not an address of this host", where);
		break;
	default:
		(void)err_sys(err, ERR_IO, sys, "listen at %s", where);
	}
	return -sys;
}

int address_listen(const struct address *a, struct err *err)
{
	const int on = 1;
	cleanup_fd int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(a, errno, err);
	/* Without SO_REUSEADDR, bind() fails while connections of an engine that ran earlier are
	 * still closing. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (a->any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, &a->any, a->bytes) < 0 || listen(fd, BACKLOG) < 0)
		return fail(a, errno, err);
	return take_fd(fd);
}
