/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/boxes_doors.h"

#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int opened[OPENED_MAX]; /* doors by number; 0: closed */
static char text[64 << 10];

enum warden_door door_named(const char *word)
{
	static const char *const names[WARDEN_DOOR_END_] = {
		"terminal", "socket", "socket6", "listeners", "listeners6"};
	for (int i = 0; word && i < WARDEN_DOOR_END_; i++)
		if (names[i] && strcmp(names[i], word) == 0)
			return (enum warden_door)i;
	return WARDEN_DOOR_END_;
}

void take_network(char *rest, struct warden_net *net)
{
	uint32_t n;
	*net = (struct warden_net){0};
	for (char *word; (word = strsep(&rest, " "));) {
		char *slash = strchr(word, '/'), *colon = strchr(word, ':');
		net->has_resolver |= strcmp(word, "resolver") == 0;
		if (sscanf(word, "listeners=%u", &n) == 1)
			net->n_listeners = n;
		if (sscanf(word, "networks=%u", &n) == 1)
			net->n_networks = n;
		if (!slash && !colon)
			continue;
		const uint32_t number = (uint32_t)strtoul((slash ? slash : colon) + 1, NULL, 10);
		*(slash ? slash : colon) = '\0';
		const uint32_t ip = ntohl(inet_addr(word));
		if (slash)
			net->networks[net->n_networks++] = (struct warden_network){ip, number};
		else
			net->listeners[net->n_listeners++] = (struct warden_listener){ip, number};
	}
}

int keep_door(int fd)
{
	int number = 1;
	while (opened[number] > 0)
		number++;
	opened[number] = fd;
	return number;
}

static void connect_door(int fd, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int failed = connect(fd, (struct sockaddr *)&at, sizeof at) < 0 ? errno : 0;
	socklen_t bytes = sizeof failed;
	if (failed == EINPROGRESS) {
		(void)fd_wait(fd, POLLOUT);
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &bytes);
	}
	printf("ok %s\n", failed ? strerror(failed) : "connected");
}

static void read_door(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n = poll(&p, 1, 10000) > 0 ? read(fd, text, sizeof text - 1) : -1;
	if (n < 0) {
		printf("error io: %s\n", strerror(errno));
		return;
	}
	text[n] = '\0';
	for (ssize_t i = 0; i < n; i++)
		text[i] = text[i] == '\n' ? '|' : text[i];
	printf("ok %s\n", text);
}

static void name_door(int fd)
{
	struct sockaddr_in at = {0};
	socklen_t bytes = sizeof at;
	int r = getsockname(fd, (struct sockaddr *)&at, &bytes);
	if (r < 0 || at.sin_family != AF_INET)
		printf("error io: %s\n", r < 0 ? strerror(errno) : "another family");
	else
		printf("ok %s:%d\n", inet_ntoa(at.sin_addr), ntohs(at.sin_port));
}

static void accept_door(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int got = poll(&p, 1, 10000) > 0 ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;
	if (got < 0)
		printf("error io: %s\n", strerror(errno));
	else
		printf("ok %d\n", keep_door(got));
}

void with_door(char *rest)
{
	const char *number = strsep(&rest, " "), *op = strsep(&rest, " ");
	int *fd = &opened[number ? atoi(number) % OPENED_MAX : 0];
	unsigned index = 0;
	if (*fd <= 0 || !op) {
		printf("error gone: no such door\n");
	} else if (strcmp(op, "write") == 0) {
		printf("ok %zd\n", write(*fd, rest ? rest : "", rest ? strlen(rest) : 0));
	} else if (strcmp(op, "read") == 0) {
		read_door(*fd);
	} else if (strcmp(op, "connect") == 0) {
		connect_door(*fd, (uint16_t)atoi(rest ? rest : "0"));
	} else if (strcmp(op, "name") == 0) {
		name_door(*fd);
	} else if (strcmp(op, "accept") == 0) {
		accept_door(*fd);
	} else if (strcmp(op, "close") == 0) {
		fd_close(fd);
		printf("ok\n");
	} else if (strcmp(op, "peer") == 0) { /* the terminal's other side becomes a door, too */
		int peer = ioctl(*fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
		int at = keep_door(peer);
		(void)ioctl(*fd, TIOCGPTN, &index);
		printf(peer < 0 ? "error io: %d %u\n" : "ok %d %u\n", peer < 0 ? errno : at, index);
	}
}
