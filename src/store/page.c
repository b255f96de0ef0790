/* SPDX-License-Identifier: Apache-2.0 */
#include "store/page.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* A file as SQLite sees it. The real file system's file object is stored right behind it. */
struct page_file {
	sqlite3_file file;
	struct page_vfs *owner;
	bool has_pages; /* true: a database; false: its write-ahead log */
	sqlite3_file *real;
};

enum { PAGE_FILE_BYTES = (sizeof(struct page_file) + 15) & ~15U };

static void page_sum(unsigned char out[PAGE_CHECK_BYTES], const void *page, int64_t number)
{
	crypto_generichash_state state;
	(void)crypto_generichash_init(&state, NULL, 0, PAGE_CHECK_BYTES);
	(void)crypto_generichash_update(&state, (const unsigned char *)&number, sizeof number);
	(void)crypto_generichash_update(&state, page, PAGE_BYTES - PAGE_CHECK_BYTES);
	(void)crypto_generichash_final(&state, out, PAGE_CHECK_BYTES);
}

bool page_is_whole(const void *page, int64_t number)
{
	unsigned char sum[PAGE_CHECK_BYTES];
	page_sum(sum, page, number);
	return memcmp(sum, (const char *)page + PAGE_BYTES - PAGE_CHECK_BYTES, sizeof sum) == 0;
}

static struct page_file *of(sqlite3_file *file)
{
	return container_of(file, struct page_file, file);
}

static int do_close(sqlite3_file *file)
{
	sqlite3_file *real = of(file)->real;
	return real->pMethods->xClose(real);
}

static int refuse(struct page_vfs *v, int64_t number)
{
	v->bad_page = number;
	return v->is_tolerant ? SQLITE_OK : SQLITE_IOERR_DATA;
}

/* A read of fewer than 512 bytes is not verified. SQLite makes such a read only for the header,
 * before it knows the page size; later it reads the whole of page 1. */
static int do_read(sqlite3_file *file, void *out, int bytes, sqlite3_int64 at)
{
	struct page_file *f = of(file);
	int64_t number = at / PAGE_BYTES + 1;
	sqlite3_int64 size = 0;
	int r = f->real->pMethods->xRead(f->real, out, bytes, at);
	if (!f->has_pages || bytes < 512)
		return r;
	if (r == SQLITE_IOERR_SHORT_READ) {
		/* A page beyond the end of the file is new. A page of which only some bytes exist
		 * was truncated. */
		if (f->real->pMethods->xFileSize(f->real, &size) == SQLITE_OK && size > at)
			return refuse(f->owner, number) ? SQLITE_IOERR_DATA : r;
		return r;
	}
	if (r != SQLITE_OK)
		return r;
	bool is_page = bytes == PAGE_BYTES && at % PAGE_BYTES == 0;
	return is_page && page_is_whole(out, number) ? r : refuse(f->owner, number);
}

/* Record the errno of a failed write, truncation or sync, because SQLite sometimes loses it. */
static int noted(struct page_file *f, int r)
{
	int sys = 0;
	if (r != SQLITE_OK) {
		(void)f->real->pMethods->xFileControl(f->real, SQLITE_FCNTL_LAST_ERRNO, &sys);
		f->owner->sys = sys;
	}
	return r;
}

static int do_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 at)
{
	struct page_file *f = of(file);
	unsigned char page[PAGE_BYTES];
	if (!f->has_pages)
		return noted(f, f->real->pMethods->xWrite(f->real, data, bytes, at));
	if (bytes != PAGE_BYTES || at % PAGE_BYTES != 0)
		return SQLITE_IOERR_WRITE;
	memcpy(page, data, sizeof page);
	page_sum(page + PAGE_BYTES - PAGE_CHECK_BYTES, page, at / PAGE_BYTES + 1);
	return noted(f, f->real->pMethods->xWrite(f->real, page, bytes, at));
}

static int do_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	sqlite3_file *real = of(file)->real;
	return noted(of(file), real->pMethods->xTruncate(real, size));
}

static int do_sync(sqlite3_file *file, int flags)
{
	sqlite3_file *real = of(file)->real;
	return noted(of(file), real->pMethods->xSync(real, flags));
}

static int do_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	sqlite3_file *real = of(file)->real;
	return real->pMethods->xFileSize(real, size);
}

static int do_lock(sqlite3_file *file, int level)
{
	sqlite3_file *real = of(file)->real;
	return real->pMethods->xLock(real, level);
}

static int do_unlock(sqlite3_file *file, int level)
{
	sqlite3_file *real = of(file)->real;
	return real->pMethods->xUnlock(real, level);
}

static int do_check_lock(sqlite3_file *file, int *is_locked)
{
	sqlite3_file *real = of(file)->real;
	return real->pMethods->xCheckReservedLock(real, is_locked);
}

static int do_control(sqlite3_file *file, int op, void *arg)
{
	sqlite3_file *real = of(file)->real;
	return real->pMethods->xFileControl(real, op, arg);
}

static int do_sector_size(sqlite3_file *file)
{
	sqlite3_file *real = of(file)->real;
	return real->pMethods->xSectorSize(real);
}

static int do_characteristics(sqlite3_file *file)
{
	sqlite3_file *real = of(file)->real;
	return real->pMethods->xDeviceCharacteristics(real);
}

/* Version 1 of the interface has no shared memory and no mapped reads; these would bypass the
 * checksums. */
static const sqlite3_io_methods methods = {.iVersion = 1,
	.xClose = do_close,
	.xRead = do_read,
	.xWrite = do_write,
	.xTruncate = do_truncate,
	.xSync = do_sync,
	.xFileSize = do_file_size,
	.xLock = do_lock,
	.xUnlock = do_unlock,
	.xCheckReservedLock = do_check_lock,
	.xFileControl = do_control,
	.xSectorSize = do_sector_size,
	.xDeviceCharacteristics = do_characteristics};

static int do_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *got)
{
	struct page_vfs *v = container_of(vfs, struct page_vfs, vfs);
	if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
		return v->real->xOpen(v->real, path, file, flags, got);
	struct page_file *f = of(file);
	*f = (struct page_file){.owner = v,
		.has_pages = (flags & SQLITE_OPEN_MAIN_DB) != 0,
		.real = (sqlite3_file *)(void *)((char *)f + PAGE_FILE_BYTES)};
	memset(f->real, 0, (size_t)v->real->szOsFile);
	int r = v->real->xOpen(v->real, path, f->real, flags, got);
	if (f->real->pMethods)
		f->file.pMethods = &methods;
	return r;
}

int page_vfs_init(struct page_vfs *v)
{
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);
	if (!real)
		return -ENOMEM;
	/* Each journal has a VFS of its own. So if a process has several journals open,
	 * v->bad_page always belongs to the journal of @v. The name of a VFS must be unique, so
	 * it contains the address of @v. */
	*v = (struct page_vfs){.vfs = *real, .real = real};
	snprintf(v->name, sizeof v->name, "retort-%p", (void *)v);
	v->vfs.pNext = NULL;
	v->vfs.zName = v->name;
	v->vfs.szOsFile = (int)PAGE_FILE_BYTES + real->szOsFile;
	v->vfs.xOpen = do_open;
	return sqlite3_vfs_register(&v->vfs, 0) == SQLITE_OK ? 0 : -ENOMEM;
}

void page_vfs_done(struct page_vfs *v)
{
	(void)sqlite3_vfs_unregister(&v->vfs);
}
