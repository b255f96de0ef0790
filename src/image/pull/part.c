/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pull/part.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"
#include "base/num.h"
#include "layer/layer_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { RANDOM_BYTES = sizeof "copy-" + 12 };

static int open_dir(const struct layer_store *s, bool is_made)
{
	return layer_open_place(s, "downloads", is_made);
}

int part_open(const struct layer_store *s, const char *digest)
{
	cleanup_fd int dir = open_dir(s, true);
	if (dir < 0)
		return dir;
	cleanup_fd int fd =
		openat(dir, digest, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	/* Who had the lock may have removed it. */
	return layer_is_named(dir, digest, fd) ? take_fd(fd) : -EWOULDBLOCK;
}

uint64_t part_size(const struct layer_store *s, const char *digest)
{
	struct stat st;
	cleanup_fd int dir = open_dir(s, false);
	bool is_there = dir >= 0 && fstatat(dir, digest, &st, AT_SYMLINK_NOFOLLOW) == 0;
	return is_there ? (uint64_t)st.st_size : 0;
}

void part_remove(const struct layer_store *s, const char *digest)
{
	cleanup_fd int dir = open_dir(s, false);
	if (dir >= 0)
		(void)unlinkat(dir, digest, 0);
}

int part_open_unnamed(const struct layer_store *s)
{
	char name[RANDOM_BYTES];
	cleanup_fd int dir = open_dir(s, true);
	if (dir < 0)
		return dir;
	id_make(name, sizeof name, "copy-");
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)unlinkat(dir, name, 0);
	return fd;
}

bool part_is_ours(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

void part_hint_room(struct err *err)
{
	(void)err_hint(err, "free some, for example with: retort image prune");
}

int part_check_room(int fd, uint64_t bytes, struct err *err)
{
	struct statvfs fs;
	if (fstatvfs(fd, &fs) < 0 || bytes / fs.f_frsize < fs.f_bavail)
		return 0;
	(void)err_set(err, ERR_NO_SPACE, "no room for %s: %s are free where the images are",
		num_format_bytes(bytes).text,
		num_format_bytes((uint64_t)fs.f_bavail * fs.f_frsize).text);
	part_hint_room(err);
	return -err_errno(err->code);
}

int part_fail(const struct layer_store *s, int sys, struct err *err)
{
	(void)err_sys(err, file_code(sys), sys, "write to %.150s/downloads", layer_store_dir(s));
	if (err->code == ERR_NO_SPACE)
		part_hint_room(err);
	return -err_errno(err->code);
}
