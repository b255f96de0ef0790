/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_file(int fd, const char *name, struct buf *out, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		err_set(err, ERR_USAGE, "%s is a directory", name);
		return err_hint(err, "name a program file, e.g. %.100s/main.py", name);
	}
	for (;;) {
		char *at = buf_reserve(out, 1 << 16);
		ssize_t n = at ? read(fd, at, 1 << 16) : 0;
		if (!at) {
			err_set(err, ERR_LIMIT, "%s is over %zu MiB", name, out->max_bytes >> 20);
			return err_hint(err, "put data into a file of its own: -v data:data");
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, ERR_IO, errno, "read %s", name);
		if (n == 0)
			return 0;
		buf_grown(out, (size_t)n);
	}
}

int program_read(const char *path, struct buf *out, struct err *err)
{
	if (strcmp(path, "-") == 0)
		return read_file(STDIN_FILENO, "standard input", out, err);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0)
		return read_file(fd, path, out, err);
	bool is_missing = errno == ENOENT;
	int r = err_sys(err, is_missing ? ERR_NOT_FOUND : ERR_ACCESS, errno, "%s", path);
	err_hint(err, "%s",
		is_missing ? "name a program file, or use -c CODE or - for standard input"
			   : "check the file's permissions: ls -l");
	return r;
}

const char *program_name(const char *path)
{
	return !path ? "<string>" : strcmp(path, "-") == 0 ? "<stdin>" : path;
}
