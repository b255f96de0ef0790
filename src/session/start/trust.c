/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/trust.h"

#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BUNDLE AUTHORITY_DIR "/" AUTHORITY_BUNDLE

const char *const trust_environment[] = {
	"SSL_CERT_FILE=" BUNDLE,
	"SSL_CERT_DIR=" AUTHORITY_DIR,
	"REQUESTS_CA_BUNDLE=" BUNDLE,
	"CURL_CA_BUNDLE=" BUNDLE,
	"PIP_CERT=" BUNDLE,
	"GIT_SSL_CAINFO=" BUNDLE,
	"NODE_EXTRA_CA_CERTS=" BUNDLE,
	"AWS_CA_BUNDLE=" BUNDLE,
	"DENO_CERT=" BUNDLE,
	"CARGO_HTTP_CAINFO=" BUNDLE,
	"npm_config_cafile=" BUNDLE,
	NULL,
};

static bool is_in_memory(const char *dir)
{
	struct statfs fs;
	return statfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* ---- directories of engines that were killed ---- */

/* The directory of an engine begins with this, and is locked while the engine lives. */
static const char prefix[] = "retort-certs-";

enum { TRIES = 8, ENTRIES_MAX = 4096 };

/* Open the directory @name, and lock it. Returns: -1 if it is locked, or not of this user, or no
 * directory. */
static int open_locked(int place, const char *name)
{
	struct stat st;
	cleanup_fd int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
		flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1;
	return take_fd(fd);
}

static void remove_left(const char *where)
{
	DIR *place = opendir(where);
	const struct dirent *e;
	for (int n = 0; place && n < ENTRIES_MAX && (e = readdir(place)); n++) {
		cleanup_fd int fd = -1;
		if (strncmp(e->d_name, prefix, sizeof prefix - 1) == 0)
			fd = open_locked(dirfd(place), e->d_name);
		if (fd < 0)
			continue;
		authority_remove(fd);
		(void)unlinkat(dirfd(place), e->d_name, AT_REMOVEDIR);
	}
	if (place)
		(void)closedir(place);
}

/* ---- the directory of this engine ---- */

/* Return whether @fd is still what is at @path. */
static bool is_at(int fd, const char *path)
{
	struct stat here, there;
	return fstat(fd, &here) == 0 && lstat(path, &there) == 0 && here.st_dev == there.st_dev &&
		here.st_ino == there.st_ino;
}

/* Another engine may lock and remove the directory before it is locked here: make another one. */
static bool make_in(const char *place, struct trust *t)
{
	for (int i = 0; i < TRIES; i++) {
		int n = snprintf(t->dir, sizeof t->dir, "%s/%sXXXXXX", place, prefix);
		if (n >= (int)sizeof t->dir || !mkdtemp(t->dir))
			return false;
		t->dir_fd = open_locked(AT_FDCWD, t->dir);
		if (t->dir_fd >= 0 && is_at(t->dir_fd, t->dir)) {
			remove_left(place);
			return true;
		}
		fd_close(&t->dir_fd);
		(void)rmdir(t->dir);
	}
	return false;
}

/* Make a directory, in memory if there is such a place: its many files take 2 ms there, and 200 ms
 * on some disks. */
static int make_dir(struct trust *t, struct err *err)
{
	const char *const places[] = {getenv("XDG_RUNTIME_DIR"), "/run", "/dev/shm", "/tmp"};
	for (int needs_memory = 1; needs_memory >= 0; needs_memory--)
		for (size_t i = 0; i < ARRAY_LEN(places); i++)
			if (places[i] && places[i][0] == '/' &&
				(!needs_memory || is_in_memory(places[i])) && make_in(places[i], t))
				return 0;
	t->dir[0] = '\0';
	return err_sys(err, ERR_IO, errno, "make a directory of certificates");
}

int trust_make(struct trust *t, struct err *err)
{
	if (t->is_made)
		return 0;
	int r = authority_make(&t->authority, err);
	if (r == 0 && !t->dir[0])
		r = make_dir(t, err);
	if (r == 0)
		r = authority_publish(&t->authority, t->dir, &authority_host, err);
	t->is_made = r == 0;
	return r;
}

void trust_done(struct trust *t)
{
	if (t->dir[0]) {
		authority_remove(t->dir_fd);
		(void)rmdir(t->dir);
		fd_close(&t->dir_fd);
	}
	explicit_bzero(t, sizeof *t);
}
