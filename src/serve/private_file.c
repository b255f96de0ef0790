/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/private_file.h"

#include "base/fd.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Check the owner and the mode. */
static int check(const struct private_file *file, int fd, const char *path, struct err *err)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_sys(err, ERR_IO, errno, "%s %.150s", file->what, path);
	if (!S_ISREG(st.st_mode)) {
		(void)err_set(err, ERR_USAGE, "%s %.150s is not a regular file", file->what, path);
		return err_hint(err, "%s", file->form);
	}
	if (file->is_public)
		return 0;
	mode_t forbidden = st.st_uid == 0 && geteuid() != 0 ? S_IRWXO | S_IWGRP : S_IRWXG | S_IRWXO;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_fail(err, ERR_ACCESS, "it must belong to the engine's user or to root",
			"%s %.150s is another user's", file->what, path);
	if (!(st.st_mode & forbidden))
		return 0;
	(void)err_set(err, ERR_ACCESS, "%s %.150s: others may read it (mode %03o)", file->what,
		path, (unsigned)st.st_mode & 0777);
	return err_hint(err, "%s", file->spill);
}

int private_file_read(
	const struct private_file *file, const char *path, char **text, struct err *err)
{
	*text = NULL;
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		int sys = errno;
		enum err_code code = sys == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS;
		(void)err_sys(err, code, sys, "%s %.150s", file->what, path);
		return err_hint(err, "%s", file->form);
	}
	int r = check(file, fd, path, err);
	if (r < 0)
		return r;
	char *all = malloc(file->max_bytes + 1);
	if (!all)
		return err_set(err, ERR_NO_MEMORY, "no memory for a file");
	ssize_t n = fd_read_all(fd, all, file->max_bytes);
	if (n < 0)
		r = n == -E2BIG ? err_set(err, ERR_LIMIT, "%s %.150s of over %s", file->what, path,
					  num_format_bytes(file->max_bytes).text)
				: err_sys(err, ERR_IO, (int)-n, "%s %.150s", file->what, path);
	all[MAX(n, 0)] = '\0';
	if (r == 0 && strlen(all) != (size_t)n)
		r = err_set(err, ERR_USAGE, "%s %.150s is not a text", file->what, path);
	if (r == 0)
		*text = all;
	else
		private_file_free(all);
	return r;
}

void private_file_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}
