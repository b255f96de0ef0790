/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/layer_dir.h"

#include "base/fd.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 600, LOCK_WAIT_NS = 5000000 };

int layer_open_dir(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int layer_open_place(const struct layer_store *s, const char *name, bool is_made)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", layer_store_dir(s), name);
	int r = is_made ? file_make_dirs(path, 0700, 0700) : 0;
	return r < 0 ? r : layer_open_dir(AT_FDCWD, path);
}

int layer_open_layers(const struct layer_store *s, bool is_made)
{
	return layer_open_place(s, "layers", is_made);
}

bool layer_is_named(int dir, const char *name, int fd)
{
	struct stat at, st;
	return fstat(fd, &st) == 0 && fstatat(dir, name, &at, AT_SYMLINK_NOFOLLOW) == 0 &&
		at.st_dev == st.st_dev && at.st_ino == st.st_ino;
}

int layer_lock(int fd, int how)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, how | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		(void)nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_NS}, NULL);
	}
	return -EBUSY;
}

int layer_each(int dir, bool (*row)(void *arg, int dir, const char *name), void *arg)
{
	cleanup_fd int copy = layer_open_dir(dir, ".");
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	bool is_done = false;
	if (!list)
		return copy < 0 ? copy : -errno;
	(void)take_fd(copy); /* it is closed with the list */
	for (errno = 0; !is_done && (entry = readdir(list)); errno = 0)
		if (entry->d_name[0] != '.')
			is_done = row(arg, dir, entry->d_name);
	int sys = is_done ? 0 : errno;
	(void)closedir(list);
	return -sys;
}
