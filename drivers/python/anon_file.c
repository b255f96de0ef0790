/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "anon_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINK_BYTES = 64 };

int anon_file_new(void)
{
	int fd = memfd_create("branch", MFD_CLOEXEC);
	return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static bool copy_part(int from, int to, off_t at, off_t end)
{
	char data[16 << 10];
	while (at < end) {
		size_t room = end - at < (off_t)sizeof data ? (size_t)(end - at) : sizeof data;
		ssize_t n = pread(from, data, room, at);
		if (n <= 0 || pwrite(to, data, (size_t)n, at) != n)
			return n == 0;
		at += n;
	}
	return true;
}

/* Copy the data. A hole in the source becomes a hole in the copy, so it takes no memory there. */
static bool copy_all(int from, int to, off_t bytes)
{
	for (off_t at = 0; at < bytes;) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			return true;
		if (data < 0)
			/* The file system does not support SEEK_DATA, so treat the rest as data. */
			data = at;
		at = lseek(from, data, SEEK_HOLE);
		if (at <= data || at > bytes)
			at = bytes;
		if (!copy_part(from, to, data, at))
			return false;
	}
	return true;
}

static int open_again(int fd, int flags)
{
	char link[LINK_BYTES];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return open(link, flags | O_CLOEXEC);
}

int anon_file_copy(int fd, off_t bytes)
{
	int from = open_again(fd, O_RDONLY);
	int to = from < 0 ? -1 : anon_file_new();
	if (to >= 0 && (ftruncate(to, bytes) < 0 || !copy_all(from, to, bytes))) {
		(void)close(to);
		to = -1;
	}
	if (from >= 0)
		(void)close(from);
	return to;
}

char *anon_file_save(int fd, off_t bytes)
{
	char *kept = mmap(
		NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int from = kept == MAP_FAILED ? -1 : open_again(fd, O_RDONLY);
	off_t at = 0;
	for (ssize_t n = 1; from >= 0 && at < bytes && n > 0; at += n > 0 ? n : 0)
		n = pread(from, kept + at, (size_t)(bytes - at), at);
	if (from >= 0)
		(void)close(from);
	if (kept != MAP_FAILED && at < bytes)
		(void)munmap(kept, (size_t)bytes);
	return kept == MAP_FAILED || at < bytes ? NULL : kept;
}

/*
 * Write a block of the saved content. For a block of zeros, punch a hole instead, because the
 * original may have had a hole there.
 */
static bool put_back_block(int to, const char *block, size_t bytes, off_t at)
{
	static const char zeros[4096];
	return (memcmp(block, zeros, bytes) == 0 &&
		       fallocate(to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
			       (off_t)bytes) == 0) ||
		pwrite(to, block, bytes, at) == (ssize_t)bytes;
}

bool anon_file_restore(int fd, const char *kept, off_t bytes)
{
	int to = open_again(fd, O_RDWR);
	bool is_back = to >= 0 && ftruncate(to, bytes) == 0;
	for (off_t at = 0; is_back && at < bytes; at += 4096)
		is_back = put_back_block(
			to, kept + at, bytes - at < 4096 ? (size_t)(bytes - at) : 4096, at);
	if (to >= 0)
		(void)close(to);
	return is_back;
}
