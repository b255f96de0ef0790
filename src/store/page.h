/* A layer between SQLite and journal.db that adds a checksum to each page.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last 16 bytes of every page are a checksum over the other bytes and the page number. */
enum { PAGE_BYTES = 4096, PAGE_CHECK_BYTES = 16 };

/* A virtual file system (VFS) for SQLite. It writes a checksum into each page of a database, and
 * fails to read a page whose checksum is wrong (SQLITE_IOERR_DATA). It leaves the write-ahead
 * log unchanged, because the frames of the log have checksums already. A page in the log gets
 * its own checksum when it is copied to the database. The VFS has no shared memory, so it needs
 * locking_mode=EXCLUSIVE. */
struct page_vfs {
	sqlite3_vfs vfs;
	sqlite3_vfs *real;
	char name[48];
	bool is_tolerant; /* read damaged pages without an error */
	int64_t bad_page; /* number of the last damaged page, from 1; 0 if all were good */
	int sys;	  /* errno of the last failed write or sync, or 0 */
};

/*
 * Register the VFS with SQLite as v->name, until page_vfs_done(). The struct must not move.
 * Returns: 0, or -ENOMEM.
 */
int page_vfs_init(struct page_vfs *v);
void page_vfs_done(struct page_vfs *v);

/* Return whether the checksum in @page is right for page number @number (from 1). */
bool page_is_whole(const void *page, int64_t number);
