/*
 * A walk through the tree of a layer.
 *
 * The walk goes down by descriptors: each entry is opened with O_PATH and O_NOFOLLOW below the
 * descriptor of its directory, so that nothing outside is reached whatever the names are, and is
 * changed or read by /proc/self/fd, which leads to exactly what was opened. The names of a
 * directory are sorted, so that the digest does not depend on the file system. A visitor decides
 * what to do with an entry; directories are visited before their entries, or after them when they
 * are to be removed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "layer/layer_tree.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/id.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { CHUNK_BYTES = 64 << 10, XATTRS_BYTES = 64 << 10 };

struct walk {
	uint64_t max_bytes;
	uint64_t n_entries;
	struct layer_sum *sum;
	struct digest_state *digest; /* layer_seal() */
	char *chunk;
	struct err *err;
	/* Handle an entry. @fd: O_PATH. Returns: 0; 1: do not go into this directory; or negative
	 * errno. */
	int (*visit)(struct walk *w, int dir, const char *name, int fd, const struct stat *st);
};

static int walk(struct walk *w, int fd, unsigned depth);

static void add(struct walk *w, const void *data, size_t bytes)
{
	digest_add(w->digest, data, bytes);
}

/* Add a text with its NUL, so that two different lists never look alike. */
static void add_text(struct walk *w, const char *text)
{
	add(w, text, strlen(text) + 1);
}

static int fail(struct walk *w, int sys, const char *what)
{
	return err_sys(w->err, file_code(sys), sys, "%s a file of the layer", what);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
	char **v;
	size_t n, room;
};

/* Append a copy of @name. Returns: 0 or negative errno. */
static int add_name(struct walk *w, struct names *names, const char *name)
{
	if (++w->n_entries > LAYER_FILES_MAX)
		return err_set(
			w->err, ERR_LIMIT, "the layer has more than %d files", LAYER_FILES_MAX);
	if (names->n == names->room) {
		size_t room = 2 * names->room + 16;
		char **more = reallocarray(names->v, room, sizeof *more);
		if (!more)
			return err_set(w->err, ERR_NO_MEMORY, "no memory for names");
		names->v = more;
		names->room = room;
	}
	names->v[names->n] = strdup(name);
	if (!names->v[names->n])
		return err_set(w->err, ERR_NO_MEMORY, "no memory for names");
	names->n++;
	return 0;
}

/* Read the names of a directory, sorted. A directory that is gone has none. */
static int read_names(struct walk *w, int fd, struct names *names)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int r = 0;
	if (!dir)
		return errno == ENOENT ? 0 : fail(w, errno, "read");
	while (r == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = add_name(w, names, entry->d_name);
	(void)closedir(dir);
	if (names->n > 0)
		qsort(names->v, names->n, sizeof *names->v, compare);
	return r;
}

/* Open an entry of a directory, whatever it is. Returns: fd, or -1 with errno, EXDEV for a mount
 * point. (Files of one mount can differ in their st_dev: those of an overlay do.) */
static int open_entry(int dir, const char *name)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
	return (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
}

static int visit(struct walk *w, int dir, const char *name, unsigned depth)
{
	struct stat st;
	cleanup_fd int fd = open_entry(dir, name);
	if (fd < 0 && errno == EXDEV)
		return err_set(w->err, ERR_IO, "the layer contains another file system");
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : fail(w, errno, "open");
	int r = w->visit(w, dir, name, fd, &st);
	if (r != 0 || !S_ISDIR(st.st_mode))
		return r < 0 ? r : 0;
	if (depth == LAYER_DEPTH_MAX)
		return err_set(w->err, ERR_LIMIT, "the layer is more than %d directories deep",
			LAYER_DEPTH_MAX);
	return walk(w, fd, depth + 1);
}

/* Give the owner of a directory all rights to it. A program may have taken them away, but an engine
 * without privileges needs them, as does the next program that uses a cache. */
static int open_up(struct walk *w, int fd)
{
	struct stat st;
	char path[32];
	if (fstat(fd, &st) < 0)
		return fail(w, errno, "read");
	if ((st.st_mode & S_IRWXU) == S_IRWXU)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return chmod(path, (st.st_mode & 07777) | S_IRWXU) < 0 ? fail(w, errno, "read") : 0;
}

static int walk(struct walk *w, int fd, unsigned depth)
{
	struct names names = {.n = 0};
	int r = open_up(w, fd);
	if (r == 0)
		r = read_names(w, fd, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = visit(w, fd, names.v[i], depth);
	for (size_t i = 0; i < names.n; i++)
		free(names.v[i]);
	free(names.v);
	if (r == 0 && w->digest)
		add_text(w, ".."); /* the end of the directory; no entry is called so */
	return r;
}

/* ---- counting ---- */

static int count(struct walk *w, const struct stat *st)
{
	uint64_t on_disk = (uint64_t)st->st_blocks * 512;
	if (S_ISDIR(st->st_mode))
		return 0;
	w->sum->files++;
	w->sum->bytes += MAX(on_disk, (uint64_t)st->st_size);
	if (w->sum->bytes <= w->max_bytes)
		return 0;
	(void)err_set(w->err, ERR_LIMIT, "the template is larger than %llu MiB",
		(unsigned long long)(w->max_bytes >> 20));
	return err_hint(w->err, "allow more: --disk"), -E2BIG;
}

static int visit_count(struct walk *w, int dir, const char *name, int fd, const struct stat *st)
{
	(void)dir, (void)name, (void)fd;
	return count(w, st);
}

int layer_measure(int fd, uint64_t max_bytes, struct layer_sum *sum, struct err *err)
{
	struct walk w = {.max_bytes = max_bytes, .sum = sum, .err = err, .visit = visit_count};
	return walk(&w, fd, 0);
}

/* ---- sealing ---- */

static int add_content(struct walk *w, const char *path)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	if (fd < 0)
		return fail(w, errno, "read");
	while ((n = read(fd, w->chunk, CHUNK_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(w, errno, "read");
		add(w, w->chunk, (size_t)n);
	}
	return 0;
}

/* Set the mode of a file or directory, and remove its extended attributes; those of security
 * modules stay. */
static int make_plain(struct walk *w, const char *path, mode_t mode)
{
	char *names = xcalloc(1, XATTRS_BYTES);
	int bad = chmod(path, mode) < 0 ? errno : 0;
	ssize_t n = listxattr(path, names, XATTRS_BYTES);
	if (n < 0 && errno != ENOTSUP && bad == 0)
		bad = errno; /* E2BIG: more names than the kernel lists */
	for (const char *at = names; n > 0 && at < names + n; at += strlen(at) + 1)
		if (removexattr(path, at) < 0 && strncmp(at, "user.", 5) == 0)
			bad = errno;
	free(names);
	return bad == 0 ? 0 : fail(w, bad, "change the attributes of");
}

static int seal_link(struct walk *w, int fd)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(fd, "", target, sizeof target - 1);
	if (n < 0)
		return fail(w, errno, "read");
	target[n] = '\0';
	add_text(w, target);
	return 0;
}

static int seal_file(struct walk *w, const char *path, const struct stat *st, mode_t mode)
{
	char text[48];
	int r = make_plain(w, path, mode);
	if (r < 0)
		return r;
	snprintf(text, sizeof text, "%llu", (unsigned long long)st->st_size);
	add_text(w, text);
	return add_content(w, path);
}

static int visit_seal(struct walk *w, int dir, const char *name, int fd, const struct stat *st)
{
	const char *kind = S_ISDIR(st->st_mode) ? "d"
		: S_ISLNK(st->st_mode)		? "l"
		: st->st_mode & 0111		? "x"
						: "f";
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (!S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode) && !S_ISREG(st->st_mode))
		return unlinkat(dir, name, 0) < 0 ? fail(w, errno, "remove") : 0;
	int r = count(w, st);
	if (r < 0)
		return r;
	add_text(w, kind);
	add_text(w, name);
	if (S_ISLNK(st->st_mode))
		return seal_link(w, fd);
	if (S_ISREG(st->st_mode))
		return seal_file(w, path, st, st->st_mode & 0111 ? 0755 : 0644);
	return make_plain(w, path, 0755);
}

int layer_seal(int fd, uint64_t max_bytes, struct layer_sum *out, struct err *err)
{
	struct digest_state digest;
	struct walk w = {.max_bytes = max_bytes,
		.sum = out,
		.digest = &digest,
		.chunk = xcalloc(1, CHUNK_BYTES),
		.err = err,
		.visit = visit_seal};
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	*out = (struct layer_sum){.bytes = 0};
	digest_begin(&digest);
	int r = make_plain(&w, path, 0755);
	if (r == 0)
		r = walk(&w, fd, 0);
	digest_end(&digest, out->digest);
	free(w.chunk);
	return r;
}

/* ---- removing ---- */

/* Directories can be deeper than there are descriptors: what is too deep is moved to the top, and
 * removed in the next round. */
struct clearing {
	int top;
	bool has_moved;
};

static int clear(struct clearing *c, int fd, unsigned depth);

static int move_to_top(struct clearing *c, int dir, const char *name)
{
	char random[24];
	id_make(random, sizeof random, ".deep-");
	c->has_moved = true;
	return renameat(dir, name, c->top, random) < 0 ? -errno : 0;
}

/* Remove an entry of the directory @dir. A directory without the right to write gets it first. */
static int remove_entry(struct clearing *c, int dir, const char *name, unsigned depth)
{
	char path[32];
	struct stat st;
	cleanup_fd int fd = open_entry(dir, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(dir, name, 0) < 0 ? -errno : 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	(void)chmod(path, 0700);
	if (depth == LAYER_DEPTH_MAX)
		return move_to_top(c, dir, name);
	int r = clear(c, fd, depth + 1);
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 && r == 0 ? -errno : r;
}

static int clear(struct clearing *c, int fd, unsigned depth)
{
	char path[32];
	int r = 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	DIR *list = opendir(path);
	const struct dirent *entry;
	if (!list)
		return -errno;
	while ((entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			int bad = remove_entry(c, fd, entry->d_name, depth);
			r = r < 0 ? r : bad;
		}
	(void)closedir(list);
	return r;
}

int layer_clear(int fd)
{
	struct clearing c = {.top = fd, .has_moved = true};
	int r = 0;
	while (r == 0 && c.has_moved) {
		c.has_moved = false;
		r = clear(&c, fd, 0);
	}
	return r;
}
