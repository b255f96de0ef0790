/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "epoll.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LINE_BYTES = 256 };

/* Call @take for each line of /proc/self/fdinfo/@fd. */
static void read_info(int fd, void (*take)(const char *line, void *arg), void *arg)
{
	char path[LINE_BYTES], line[LINE_BYTES];
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		take(line, arg);
	if (f)
		(void)fclose(f);
}

/*
 * Watch the descriptor that an fdinfo line names, such as "tfd: 4 events: 19 data: 4 …". The first
 * number is decimal, the others are hexadecimal. Source: proc_pid_fdinfo(5).
 */
static void take_watched(const char *line, void *arg)
{
	const int *epoll = arg;
	struct epoll_event event = {0};
	unsigned long long data;
	unsigned events;
	int fd;
	if (sscanf(line, "tfd: %d events: %x data: %llx", &fd, &events, &data) != 3)
		return;
	event.events = events;
	event.data.u64 = data;
	(void)epoll_ctl(*epoll, EPOLL_CTL_ADD, fd, &event);
}

int epoll_renew(int old)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll >= 0)
		read_info(old, take_watched, &epoll);
	return epoll;
}

struct counter {
	unsigned long long count;
	int flags;
};

static void take_count(const char *line, void *arg)
{
	struct counter *c = arg;
	int is_semaphore;
	(void)sscanf(line, "eventfd-count: %llx", &c->count);
	if (sscanf(line, "eventfd-semaphore: %d", &is_semaphore) == 1 && is_semaphore)
		c->flags |= EFD_SEMAPHORE;
}

int eventfd_renew(int old)
{
	struct counter c = {.flags = EFD_CLOEXEC};
	read_info(old, take_count, &c);
	c.flags |= fcntl(old, F_GETFL) & O_NONBLOCK ? EFD_NONBLOCK : 0;
	int fd = eventfd(0, c.flags);
	uint64_t count = c.count;
	if (fd >= 0 && count > 0)
		(void)!write(fd, &count, sizeof count);
	return fd;
}
