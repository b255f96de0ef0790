/* Copying a file or a directory, to move it to another file system. Permissions, times and
 * attributes are kept; the owner as far as the box allows. SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "attributes.h"
#include "files.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 256 << 10, MODE_BITS = 07777, OWN_ONLY = 0700 };

static int copy_at(int from, int to, const char *name, const char *as, struct err *err);

static int copy_bytes(int in, int out, const char *name, struct err *err)
{
	static char chunk[CHUNK_BYTES];
	for (;;) {
		ssize_t n = read(in, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? answer_fail(err, errno, name) : 0;
		int r = fd_write_all(out, chunk, (size_t)n);
		if (r < 0)
			return answer_fail(err, -r, name);
	}
}

/* Give @out what @st has besides its content. */
static void copy_rest(int in, int out, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	attributes_copy(in, out);
	(void)!fchown(out, st->st_uid, st->st_gid);
	(void)fchmod(out, st->st_mode & MODE_BITS);
	(void)futimens(out, times);
}

static int copy_file(int in, int to, const char *as, const struct stat *st, struct err *err)
{
	cleanup_fd int out =
		openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return answer_fail(err, errno, as);
	int r = copy_bytes(in, out, as, err);
	if (r == 0)
		copy_rest(in, out, st);
	return r;
}

static int copy_content(int in, int out, const char *name, struct err *err)
{
	int own = fcntl(in, F_DUPFD_CLOEXEC, 0), r = 0;
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *at;
	if (!dir) {
		r = answer_fail(err, errno, name);
		fd_close(&own);
		return r;
	}
	while (r == 0 && (at = readdir(dir)))
		if (strcmp(at->d_name, ".") != 0 && strcmp(at->d_name, "..") != 0)
			r = copy_at(in, out, at->d_name, at->d_name, err);
	(void)closedir(dir);
	return r;
}

static int copy_directory(int in, int to, const char *as, const struct stat *st, struct err *err)
{
	if (mkdirat(to, as, OWN_ONLY) < 0)
		return answer_fail(err, errno, as);
	cleanup_fd int out = openat(to, as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out < 0)
		return answer_fail(err, errno, as);
	int r = copy_content(in, out, as, err);
	if (r == 0)
		copy_rest(in, out, st);
	return r;
}

static int copy_link(int from, int to, const char *name, const char *as, struct err *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof target - 1);
	if (n < 0)
		return answer_fail(err, errno, name);
	target[n] = '\0';
	return symlinkat(target, to, as) < 0 ? answer_fail(err, errno, as) : 0;
}

static int copy_at(int from, int to, const char *name, const char *as, struct err *err)
{
	struct stat st;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return answer_fail(err, errno, name);
	if (S_ISLNK(st.st_mode))
		return copy_link(from, to, name, as, err);
	if (S_ISFIFO(st.st_mode))
		return mkfifoat(to, as, st.st_mode & MODE_BITS) < 0 ? answer_fail(err, errno, as)
								    : 0;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return err_fail(err, ERR_USAGE, "remove it, or move the rest",
			"%.150s: a device or socket cannot move to another file system", name);
	cleanup_fd int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (in < 0 || fstat(in, &st) < 0)
		return answer_fail(err, errno, name);
	return S_ISDIR(st.st_mode) ? copy_directory(in, to, as, &st, err)
				   : copy_file(in, to, as, &st, err);
}

int files_copy(const char *from, const char *to, struct err *err)
{
	return copy_at(AT_FDCWD, AT_FDCWD, from, to, err);
}
