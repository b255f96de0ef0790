/*
 * Packing a directory, which may belong to somebody else who changes it at the same time. Each
 * directory and file is opened by its last name below the descriptor of the directory that it was
 * found in, and no link is followed. What was opened has to be what was found. So whatever is
 * renamed meanwhile, nothing from outside of the directory gets into the archive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/image/image_pack.h"

#include "base/fd.h"
#include "base/file.h"
#include "base/libarchive.h"
#include "base/num.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 10, NAME_BYTES = 4096, DEPTH_MAX = 128 };
/* No layer has more. */
#define PACK_BYTES (UINT64_C(64) << 30)

/* A directory between the top and what is being packed. */
struct level {
	int fd;
	struct dirent **names;
	int n, at;
	size_t path_bytes;
};

struct packing {
	struct libarchive lib;
	struct archive *out;
	struct archive_entry *entry;
	struct archive_entry_linkresolver *links;
	const char *root;
	dev_t dev;
	int fd, sys;	/* sys: errno of a write that has failed */
	uint64_t bytes; /* of files so far */
	struct level levels[DEPTH_MAX];
	int depth;
	char path[NAME_BYTES]; /* in the archive: "./a/b" */
	char block[BLOCK_BYTES];
};

/* ---- failures ---- */

static la_ssize_t on_write(struct archive *a, void *arg, const void *data, size_t bytes)
{
	struct packing *p = arg;
	int r = fd_write_all(p->fd, data, bytes);
	if (r == 0)
		return (la_ssize_t)bytes;
	p->sys = -r;
	p->lib.set_error(a, -r, "cannot be written");
	return -1;
}

static int fail_write(const struct packing *p, struct err *err)
{
	const char *text = p->lib.error_string(p->out);
	if (p->sys)
		return err_sys(
			err, file_code(p->sys), p->sys, "write an archive of %.150s", p->root);
	return err_set(
		err, ERR_IO, "write an archive of %.100s: %.100s", p->root, text ? text : "?");
}

static int fail_changed(const struct packing *p, struct err *err)
{
	return err_fail(err, ERR_BUSY, "import it again while nothing changes its files",
		"%.100s%.100s has changed while it was read", p->root, p->path + 1);
}

/* Something was found, and cannot be opened or read now. */
static int fail_read(const struct packing *p, int sys, struct err *err)
{
	if (sys == ELOOP || sys == ENOENT || sys == ENOTDIR || sys == ENXIO || sys == EINVAL)
		return fail_changed(p, err);
	return err_fail_sys(err, file_code(sys), sys,
		sys == EACCES || sys == EPERM
			? "as root, or as its owner: tar -C DIR -c . | retort image import - NAME"
			: "",
		"%.100s%.100s cannot be read", p->root, p->path + 1);
}

/* ---- entries ---- */

/* Open without following any link. Returns: fd, or -1 with errno. Source: openat2(2). */
static int open_plain(int dir, const char *name, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC),
		.resolve = RESOLVE_NO_SYMLINKS};
	return (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
}

/* Open what was found as *@st, and look at it again. Returns: fd, or negative errno and @err. */
static int open_found(
	const struct packing *p, const char *name, int flags, struct stat *st, struct err *err)
{
	const struct stat found = *st;
	cleanup_fd int fd = open_plain(p->levels[p->depth - 1].fd, name, flags);
	if (fd < 0 || fstat(fd, st) < 0)
		return fail_read(p, errno, err);
	if (st->st_dev != found.st_dev || st->st_ino != found.st_ino ||
		(st->st_mode & S_IFMT) != (found.st_mode & S_IFMT))
		return fail_changed(p, err);
	return take_fd(fd);
}

/* Write the header of the entry. Returns: 1: it is a further name of a file that is in the archive
 * already; 0; or negative errno. */
static int put_header(
	struct packing *p, const struct stat *st, const char *link_text, struct err *err)
{
	struct archive_entry *entry = p->entry, *rest = NULL;
	p->lib.entry_clear(entry);
	p->lib.entry_copy_stat(entry, st);
	p->lib.entry_set_pathname(entry, p->path);
	if (link_text)
		p->lib.entry_set_symlink(entry, link_text);
	p->lib.entry_linkify(p->links, &entry, &rest);
	if (p->lib.write_header(p->out, p->entry) < ARCHIVE_WARN)
		return fail_write(p, err);
	return p->lib.entry_hardlink(p->entry) != NULL;
}

static int pack_file(struct packing *p, const char *name, struct stat *st, struct err *err)
{
	cleanup_fd int fd = open_found(p, name, O_NONBLOCK, st, err);
	if (fd < 0)
		return fd;
	if ((uint64_t)st->st_size > PACK_BYTES - p->bytes)
		return err_set(err, ERR_LIMIT, "%.200s has more than %llu GiB of files", p->root,
			(unsigned long long)(PACK_BYTES >> 30));
	p->bytes += (uint64_t)st->st_size;
	int r = put_header(p, st, NULL, err);
	for (uint64_t left = r == 0 ? (uint64_t)st->st_size : 0; left > 0;) {
		ssize_t n = read(fd, p->block, MIN(left, sizeof p->block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_read(p, errno, err);
		if (n == 0)
			return fail_changed(p, err);
		if (p->lib.write_data(p->out, p->block, (size_t)n) < 0)
			return fail_write(p, err);
		left -= (uint64_t)n;
	}
	return MIN(r, 0);
}

static int pack_link(struct packing *p, const char *name, const struct stat *st, struct err *err)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(p->levels[p->depth - 1].fd, name, text, sizeof text - 1);
	if (n < 0)
		return fail_read(p, errno, err);
	text[n] = '\0';
	return MIN(put_header(p, st, text, err), 0);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Go into a directory. Owns: @fd is taken. */
static int enter(struct packing *p, int fd, struct err *err)
{
	struct level *l = &p->levels[p->depth];
	*l = (struct level){.fd = fd, .path_bytes = strlen(p->path)};
	p->depth++; /* leave() lets go of it in any case */
	l->n = scandirat(fd, ".", &l->names, NULL, by_name);
	if (l->n >= 0)
		return 0;
	int sys = errno;
	l->n = 0;
	return fail_read(p, sys, err);
}

static void leave(struct packing *p)
{
	struct level *l = &p->levels[--p->depth];
	for (int i = 0; i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	fd_close(&l->fd);
}

static int pack_dir(struct packing *p, const char *name, struct stat *st, struct err *err)
{
	cleanup_fd int fd = open_found(p, name, O_DIRECTORY, st, err);
	if (fd < 0)
		return fd;
	int r = put_header(p, st, NULL, err);
	if (r < 0 || st->st_dev != p->dev) /* what is mounted there is left out */
		return MIN(r, 0);
	if (p->depth == DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "%.200s has more than %d directories in each other",
			p->root, DEPTH_MAX);
	return enter(p, take_fd(fd), err);
}

/* Pack the next entry of the directory in which we are, or leave it. */
static int pack_next(struct packing *p, struct err *err)
{
	struct stat st;
	struct level *l = &p->levels[p->depth - 1];
	if (l->at == l->n) {
		leave(p);
		return 0;
	}
	const char *name = l->names[l->at++]->d_name;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	size_t room = sizeof p->path - l->path_bytes;
	int n = snprintf(p->path + l->path_bytes, room, "/%s", name);
	if (n < 0 || (size_t)n >= room)
		return err_set(err, ERR_LIMIT, "%.200s has a path that is too long", p->root);
	if (fstatat(l->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_read(p, errno, err);
	if (S_ISDIR(st.st_mode))
		return pack_dir(p, name, &st, err);
	if (S_ISLNK(st.st_mode))
		return pack_link(p, name, &st, err);
	if (S_ISREG(st.st_mode))
		return pack_file(p, name, &st, err);
	/* Devices are left out later, and counted. No archive has sockets. */
	return S_ISSOCK(st.st_mode) ? 0 : MIN(put_header(p, &st, NULL, err), 0);
}

static int pack_all(struct packing *p, struct err *err)
{
	struct stat st;
	snprintf(p->path, sizeof p->path, ".");
	cleanup_fd int top = open_plain(AT_FDCWD, p->root, O_DIRECTORY);
	if (top < 0 || fstat(top, &st) < 0)
		return fail_read(p, errno, err);
	p->dev = st.st_dev;
	int r = put_header(p, &st, NULL, err);
	r = r < 0 ? r : enter(p, take_fd(top), err);
	while (r == 0 && p->depth > 0)
		r = pack_next(p, err);
	while (p->depth > 0)
		leave(p);
	if (r == 0 && p->lib.write_close(p->out) < ARCHIVE_WARN)
		r = fail_write(p, err);
	return r;
}

/* ---- the archive ---- */

static int open_archive(struct packing *p, struct err *err)
{
	p->out = p->lib.write_new();
	p->entry = p->lib.entry_new();
	p->links = p->lib.entry_linkresolver_new();
	if (!p->out || !p->entry || !p->links)
		return err_set(err, ERR_NO_MEMORY, "no memory for an archive");
	p->lib.entry_linkresolver_set_strategy(p->links, ARCHIVE_FORMAT_TAR_GNUTAR);
	if (p->lib.write_set_format_gnutar(p->out) != ARCHIVE_OK ||
		p->lib.write_set_bytes_per_block(p->out, BLOCK_BYTES) != ARCHIVE_OK ||
		p->lib.write_set_bytes_in_last_block(p->out, 1) != ARCHIVE_OK ||
		p->lib.write_open(p->out, p, NULL, on_write, NULL) < ARCHIVE_WARN)
		return fail_write(p, err);
	return 0;
}

int image_pack(const char *path, int fd, struct err *err)
{
	struct packing *p = calloc(1, sizeof *p);
	if (!p)
		return err_set(err, ERR_NO_MEMORY, "no memory for an archive");
	p->root = path;
	p->fd = fd;
	int r = libarchive_load(&p->lib, err);
	if (r == 0) {
		r = open_archive(p, err);
		r = r < 0 ? r : pack_all(p, err);
		p->lib.entry_linkresolver_free(p->links);
		p->lib.entry_free(p->entry);
		(void)p->lib.write_free(p->out);
	}
	free(p);
	return r;
}
