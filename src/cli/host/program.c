/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/program.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fail because @name is a directory. If it contains a file with a usual name, such as main.py,
 * suggest that file. */
static int fail_directory(int fd, const char *name, struct err *err)
{
	static const char *const usual[] = {
		"main.py", "__main__.py", "main.js", "index.js", "main.sh", "main.sql"};
	size_t n = strlen(name);
	err_set(err, ERR_USAGE, "%s is a directory", name);
	while (n > 1 && name[n - 1] == '/')
		n--;
	for (size_t i = 0; fd != STDIN_FILENO && i < ARRAY_LEN(usual); i++)
		if (faccessat(fd, usual[i], R_OK, 0) == 0)
			return err_hint(err, "name a program file, for example %.*s/%s", (int)n,
				name, usual[i]);
	return err_hint(err, "name a program file");
}

static int read_file(int fd, const char *name, struct buf *out, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return fail_directory(fd, name, err);
	for (;;) {
		char *at = buf_reserve(out, 1 << 16);
		ssize_t n = at ? read(fd, at, 1 << 16) : 0;
		if (!at)
			return err_fail(err, ERR_LIMIT,
				"put data into a file of its own: -v data:data",
				"%s is over %zu MiB", name, out->max_bytes >> 20);
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
	int r = err_sys(
		err, is_missing ? ERR_NOT_FOUND : ERR_ACCESS, errno, "%s", *path ? path : "\"\"");
	err_hint(err, "%s",
		is_missing ? "name a program file, or use -c CODE or - for standard input"
			   : "check the file's permissions: ls -l");
	return r;
}

const char *program_name(const char *path)
{
	return !path ? "<string>" : strcmp(path, "-") == 0 ? "<stdin>" : path;
}

/* Return the part of @path after the directory @dir, or NULL if @path is not below @dir.
 * Symbolic links in both must be resolved already. */
static const char *below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	while (n > 1 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static bool has_volume(const struct order *order, const char *name)
{
	for (size_t i = 0; i < order->n_volumes; i++) {
		const char *dst = order->volumes[i].dst;
		const char *rest = below(dst, "/home/user");
		if (strcmp(rest ? rest : dst, name) == 0)
			return true;
	}
	return false;
}

void program_place(const char *path, const struct order *order, struct program_place *out)
{
	char dir[PATH_MAX], real[PATH_MAX];
	struct stat st;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *rest = NULL;
	*out = (struct program_place){0};
	snprintf(out->name, sizeof out->name, "%s", path);
	if (!realpath(path, real) || stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (order->workspace && realpath(order->workspace, dir)) {
		rest = below(real, dir);
		name = rest ? rest : name;
	}
	if (!rest && !has_volume(order, name)) {
		const char *where = order->workspace ? "/tmp/" : "";
		snprintf(out->src, sizeof out->src, "%s", real);
		snprintf(out->dst, sizeof out->dst, "%s%s", where, name);
		name = out->dst;
	}
	/* If the user wrote "./x.py" and the file is "x.py" in the box, keep "./x.py": both
	 * names mean the same file. */
	if (strncmp(path, "./", 2) != 0 || strcmp(path + 2, name) != 0)
		snprintf(out->name, sizeof out->name, "%s", name);
}
