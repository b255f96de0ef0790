/* Lists the files of a workspace, and compares two lists.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Limits of a list of files. A workspace contains anything that its programs have made: links that
 * lead out of it, FIFOs, devices, names with newlines, deep trees. So the length of a list and the
 * depth of the walk are limited. Besides, each entry is opened relative to its directory, links are
 * not followed, and only directories and regular files are read.
 */
enum {
	WORKSPACE_FILES_MAX = 10000,
	WORKSPACE_PATHS_BYTES = 1 << 20, /* total length of all paths */
	WORKSPACE_DESCENT_MAX = 40	 /* limit of directories that are open at the same time */
};

enum workspace_kind {
	WORKSPACE_FILE,
	WORKSPACE_LINK,
	WORKSPACE_DIR,
	WORKSPACE_OTHER,
	WORKSPACE_MOUNT
};

struct workspace_file {
	char *path; /* path in the workspace; may contain any byte but NUL */
	enum workspace_kind kind;
	uint64_t size_bytes;
	int64_t changed_ns;	  /* last change of the inode, a time that no program can set */
	struct timespec modified; /* last change of the content, a time that a program can set */
	uint64_t ino;
	uint32_t mode;	/* permission bits */
	bool is_linked; /* a regular file that has several names */
};

struct workspace {
	struct workspace_file *files; /* sorted by path */
	size_t n_files;
	bool is_cut;	 /* a limit was reached, so files are missing in the list */
	uint32_t mode;	 /* mode of the workspace's own directory, as in st_mode; 0 if unknown */
	uint64_t n_used; /* number of files on the file system; 0 if unknown */
};

enum workspace_change { WORKSPACE_CREATED, WORKSPACE_MODIFIED, WORKSPACE_DELETED };

/* Called for each difference between two lists, in the order of paths. @file is the new entry
 * or, after WORKSPACE_DELETED, the old one. */
typedef void workspace_change_fn(
	void *arg, enum workspace_change change, const struct workspace_file *file);

/* List the directory @fd. Owns: the caller calls workspace_done(). Errors: ERR_IO, ERR_NO_MEMORY.
 */
int workspace_scan(struct workspace *out, int fd, struct err *err);
/* List at most @max_files entries of the directory @fd. */
int workspace_scan_some(struct workspace *out, int fd, size_t max_files, struct err *err);
/* List the directory @fd without the content of its subdirectories. */
int workspace_scan_level(struct workspace *out, int fd, struct err *err);
void workspace_done(struct workspace *w);

/* What workspace_measure() finds out about a workspace that is to be copied. In the copy, each
 * name of a file is a separate file, even if several names are hard links to the same file. */
struct workspace_size {
	/* Depth of the deepest directory: 1 for "a", 2 for "a/b". 0 if there is no directory. */
	unsigned n_dirs;
	/* Total size of the files that the copy has in addition to the workspace. For example, a
	 * file of 5 bytes with three names becomes three files, so it adds 10 bytes. */
	uint64_t again_bytes;
};
int workspace_measure(const struct workspace *w, struct workspace_size *out, struct err *err);

/* Call @change for each difference between two lists. Mount points are omitted, since the
 * program did not make them. */
void workspace_compare(const struct workspace *before, const struct workspace *after,
	workspace_change_fn *change, void *arg);

/* Return the number of directories in a path, 2 for "a/b/file". */
unsigned workspace_depth(const char *path);

/* Return the MIME type for the extension of the file's name; by default
 * "application/octet-stream". */
const char *workspace_mime(const char *path);
