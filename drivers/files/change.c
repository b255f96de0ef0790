/* Making directories, moving and removing. SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "entry.h"
#include "files.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORY_MODE = 0777, SUFFIX_BYTES = 32 };

int files_stat(const char *path, struct err *err)
{
	json_t *entry = entry_at(path, err);
	return entry ? answer_line(STDOUT_FILENO, entry, err) : err_negative(-1);
}

/* ---- make ---- */

static int fail_file(const char *path, struct err *err)
{
	return err_fail(err, ERR_USAGE, "choose another name, or remove the file",
		"%.180s: a file has this name", path);
}

/* Make one directory. Returns: 1 if it is new, 0 if it exists; negative errno. */
static int make_one(const char *path, struct err *err)
{
	if (mkdir(path, DIRECTORY_MODE) == 0)
		return 1;
	int sys = errno;
	if (entry_is_directory(path))
		return 0;
	return sys == EEXIST || sys == ENOTDIR ? fail_file(path, err) : answer_fail(err, sys, path);
}

int files_make_parents(const char *path, struct err *err)
{
	char part[PATH_MAX];
	if (strlen(path) >= sizeof part)
		return answer_fail(err, ENAMETOOLONG, path);
	strcpy(part, path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int r = make_one(part, err);
		if (r < 0)
			return r;
		*slash = '/';
	}
	return 0;
}

int files_make(const char *path, bool has_parents, struct err *err)
{
	int r = has_parents ? files_make_parents(path, err) : 0;
	if (r == 0)
		r = make_one(path, err);
	if (r < 0)
		return r;
	json_t *entry = entry_at(path, err);
	if (!entry)
		return -1;
	return answer_line(
		STDOUT_FILENO, json_pack("{s:b, s:o}", "is_new", r, "entry", entry), err);
}

/* ---- remove ---- */

/* Remove what is in the directory @fd. Removing may move what readdir() has not returned yet, so
 * read again until nothing is left. */
static int empty(int fd, const char *path, struct err *err)
{
	int r = 0, own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *at;
	if (!dir) {
		r = answer_fail(err, errno, path);
		fd_close(&own);
		return r;
	}
	for (unsigned n = 1; r == 0 && n > 0;) {
		rewinddir(dir);
		n = 0;
		while (r == 0 && (at = readdir(dir))) {
			if (strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0)
				continue;
			r = files_remove_at(fd, at->d_name, path, err);
			n++;
		}
	}
	(void)closedir(dir);
	return r;
}

int files_remove_at(int dir, const char *name, const char *path, struct err *err)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	int sys = errno;
	if (sys != EISDIR && sys != EPERM)
		return answer_fail(err, sys, path);
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return answer_fail(err, errno == ENOTDIR ? sys : errno, path);
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return answer_fail(err, errno, path);
	int r = empty(fd, path, err);
	if (r == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		r = answer_fail(err, errno, path);
	return r;
}

int files_remove(const char *path, bool is_recursive, bool may_be_missing, struct err *err)
{
	struct stat st;
	int r = 0;
	if (lstat(path, &st) < 0) {
		if (!may_be_missing || (errno != ENOENT && errno != ENOTDIR))
			return answer_fail(err, errno, path);
	} else if (is_recursive) {
		r = files_remove_at(AT_FDCWD, path, path, err);
	} else if ((S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path)) < 0) {
		bool is_full = errno == ENOTEMPTY;
		r = answer_fail(err, errno, path);
		if (is_full)
			(void)err_hint(err, "remove it with `recursive`");
	}
	return r < 0 ? r : answer_line(STDOUT_FILENO, json_object(), err);
}

/* ---- move ---- */

/* Move to another file system: copy it beside @to, and rename the copy, so that @to is never
 * incomplete. */
static int move_across(const char *from, const char *to, struct err *err)
{
	char beside[PATH_MAX + SUFFIX_BYTES];
	snprintf(beside, sizeof beside, "%s.retort-%d", to, (int)getpid());
	int r = files_copy(from, beside, err);
	if (r == 0 && rename(beside, to) < 0)
		r = answer_fail(err, errno, to);
	if (r < 0) {
		struct err unsaid;
		(void)files_remove_at(AT_FDCWD, beside, beside, &unsaid);
		return r;
	}
	return files_remove_at(AT_FDCWD, from, from, err);
}

int files_move(const char *source, const char *destination, struct err *err)
{
	struct stat st;
	if (lstat(source, &st) < 0)
		return answer_fail(err, errno, source);
	int r = files_make_parents(destination, err);
	if (r == 0 && rename(source, destination) < 0) {
		if (errno == EXDEV)
			r = move_across(source, destination, err);
		else if (errno == EINVAL)
			r = err_fail(err, ERR_USAGE, "choose another destination",
				"%.180s: a directory cannot move into itself", source);
		else
			r = answer_fail(err, errno, destination);
	}
	return r < 0 ? r : files_stat(destination, err);
}
