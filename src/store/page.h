/* Pages with checksums: what stands between SQLite and journal.db. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every page ends with a checksum over the rest of it and over its place. */
enum { PAGE_BYTES = 4096, PAGE_CHECK_BYTES = 16 };

/*
 * A file system for SQLite that writes the checksum of each page of a database and refuses to read
 * a page whose checksum is wrong (SQLITE_IOERR_DATA). The write-ahead log passes through: its
 * frames have checksums already, and get this one when they go to the database. No shared memory:
 * needs locking_mode=EXCLUSIVE.
 */
struct page_vfs {
	sqlite3_vfs vfs;
	sqlite3_vfs *real;
	char name[48];
	bool is_tolerant; /* read wrong pages too */
	int64_t bad_page; /* the last wrong one, from 1; 0 for none */
	int sys;	  /* errno of the last write or sync that failed, or 0 */
};

/*
 * Make it known to SQLite under vfs->name, until page_vfs_done(). It must stay where it is.
 * Returns: 0, -ENOMEM.
 */
int page_vfs_init(struct page_vfs *v);
void page_vfs_done(struct page_vfs *v);

/* Is this what was written as page @number (from 1)? */
bool page_is_whole(const void *page, int64_t number);
