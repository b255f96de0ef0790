/*
 * Save the locks on open files before a clone, and take them again in a resumed guard.
 *
 * The kernel reports an open file's locks in its fdinfo, one line each:
 *
 * \tlock:	1: POSIX  ADVISORY  WRITE 1234 fe:01:5678 0 EOF
 *
 * A clone does not hold these locks: an fcntl() lock belongs to the process that took it, and an
 * flock() or OFD lock belongs to the open file, which the guard replaces by another one
 * (handoff.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "locks.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

enum { PATH_BYTES = 64, LINE_BYTES = 256 };

static bool parse(struct held_lock *lock, const char *line)
{
	char kind[8], type[8], end[32];
	long long start;

	if (sscanf(line, "lock: %*s %7s %*s %7s %*s %*s %lld %31s", kind, type, &start, end) != 4)
		return false;
	if (strcmp(kind, "FLOCK") == 0)
		lock->kind = LOCK_OF_FLOCK;
	else if (strcmp(kind, "POSIX") == 0)
		lock->kind = LOCK_OF_PROCESS;
	else if (strcmp(kind, "OFDLCK") == 0)
		lock->kind = LOCK_OF_FILE;
	else
		return false;
	lock->type = strcmp(type, "WRITE") == 0 ? F_WRLCK : F_RDLCK;
	lock->start = start;
	lock->bytes = strcmp(end, "EOF") == 0 ? 0 : atoll(end) - start + 1;
	return true;
}

static bool add(struct locks *locks, const struct held_lock *lock)
{
	if (locks->n == locks->max) {
		int wanted = locks->max ? 2 * locks->max : 16;
		struct held_lock *more = wanted > LOCKS_MAX
			? NULL
			: realloc(locks->list, (size_t)wanted * sizeof(*more));

		if (!more)
			return false;
		locks->list = more;
		locks->max = wanted;
	}
	locks->list[locks->n++] = *lock;
	return true;
}

void locks_find(struct locks *locks, int fd)
{
	struct held_lock lock = {.fd = fd};
	char path[PATH_BYTES], line[LINE_BYTES];
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info))
		if (parse(&lock, line) && !add(locks, &lock))
			locks->n_more++;
	if (info)
		(void)fclose(info);
}

static bool take(const struct held_lock *lock)
{
	struct flock range = {.l_type = lock->type,
		.l_whence = SEEK_SET,
		.l_start = lock->start,
		.l_len = lock->bytes};

	if (lock->kind == LOCK_OF_FLOCK)
		return flock(lock->fd, (lock->type == F_WRLCK ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
	return fcntl(lock->fd, lock->kind == LOCK_OF_FILE ? F_OFD_SETLK : F_SETLK, &range) == 0;
}

unsigned locks_take(const struct locks *locks)
{
	unsigned n_lost = locks->n_more;

	for (int i = 0; i < locks->n; i++)
		n_lost += !take(&locks->list[i]);
	return n_lost;
}

void locks_done(struct locks *locks)
{
	free(locks->list);
	*locks = (struct locks){0};
}
