/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "sqlite.h"

#include <dlfcn.h>
#include <link.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct number {
	dev_t dev;
	ino_t ino;
};

struct renumbered {
	/*
	 * @now identifies the file at present. @then is what SQLite knows, and must be reported to
	 * it.
	 */
	struct number now, then;
};

struct table {
	struct renumbered *pairs;
	size_t n;
};

static struct table told, next;

static void *library(void)
{
	return dlopen("libsqlite3.so.0", RTLD_LAZY | RTLD_NOLOAD);
}

static int is_sqlite(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes;
	(void)arg;
	return strstr(info->dlpi_name, "/libsqlite3.so") != NULL;
}

/*
 * Return whether SQLite is loaded. The list of loaded libraries is searched first, because dlopen()
 * would search the disk for a library that is not loaded.
 */
bool sqlite_is_loaded(void)
{
	void *lib = dl_iterate_phdr(is_sqlite, NULL) ? library() : NULL;
	if (lib)
		(void)dlclose(lib);
	return lib != NULL;
}

static struct number then_of(dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < told.n; i++)
		if (told.pairs[i].now.dev == dev && told.pairs[i].now.ino == ino)
			return told.pairs[i].then;
	return (struct number){dev, ino};
}

static int tell(int r, struct stat *st)
{
	if (r == 0) {
		struct number then = then_of(st->st_dev, st->st_ino);
		st->st_dev = then.dev;
		st->st_ino = then.ino;
	}
	return r;
}

static int told_stat(const char *path, struct stat *st)
{
	return tell(stat(path, st), st);
}

static int told_fstat(int fd, struct stat *st)
{
	return tell(fstat(fd, st), st);
}

void sqlite_renumber(const struct stat *was, const struct stat *now)
{
	struct renumbered *more = realloc(next.pairs, (next.n + 1) * sizeof *more);
	if (!more)
		return;
	next.pairs = more;
	next.pairs[next.n++] = (struct renumbered){
		.now = {now->st_dev, now->st_ino}, .then = then_of(was->st_dev, was->st_ino)};
}

/*
 * Replace stat() and fstat() in SQLite. It is enough to do this in one VFS, because all VFSes of
 * SQLite itself share one table of system calls. Source: https://www.sqlite.org/c3ref/vfs.html
 */
static void replace_calls(void *lib)
{
	sqlite3_vfs *(*find)(const char *) =
		(sqlite3_vfs * (*)(const char *)) dlsym(lib, "sqlite3_vfs_find");
	sqlite3_vfs *vfs = find ? find("unix") : NULL;
	if (!vfs || vfs->iVersion < 3)
		return;
	(void)vfs->xSetSystemCall(vfs, "stat", (sqlite3_syscall_ptr)told_stat);
	(void)vfs->xSetSystemCall(vfs, "fstat", (sqlite3_syscall_ptr)told_fstat);
}

void sqlite_settle(void)
{
	void *lib = next.n > 0 ? library() : NULL;
	if (told.n == 0 && next.n == 0)
		return;
	free(told.pairs);
	told = next;
	next = (struct table){0};
	if (!lib)
		return;
	replace_calls(lib);
	(void)dlclose(lib);
}
