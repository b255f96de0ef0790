/* SPDX-License-Identifier: Apache-2.0 */
#include "image/process/duplicate.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 64 << 10 };

static int copy_contents(int from, int to)
{
	char chunk[CHUNK_BYTES];
	ssize_t n;
	int r = 0;
	while (r == 0 && (n = read(from, chunk, sizeof chunk)) != 0) {
		if (n > 0)
			r = fd_write_all(to, chunk, (size_t)n);
		else if (errno != EINTR)
			r = -errno;
	}
	return r;
}

static int copy_link(int from, const char *name, int to, const char *to_name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof target - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlinkat(target, to, to_name) < 0 ? -errno : 0;
}

int duplicate(int from, const char *name, int to, const char *to_name)
{
	struct stat st;
	cleanup_fd int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (in < 0)
		return errno == ELOOP ? copy_link(from, name, to, to_name) : -errno;
	if (fstat(in, &st) < 0)
		return -errno;
	cleanup_fd int out = openat(to, to_name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, st.st_mode & 01777);
	if (out < 0)
		return -errno;
	const struct timespec times[] = {st.st_mtim, st.st_mtim};
	int r = copy_contents(in, out);
	return r == 0 && futimens(out, times) < 0 ? -errno : r;
}
