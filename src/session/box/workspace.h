/* Lists the files of a workspace and compares two lists. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Limits of a list. A workspace contains anything that its programs made: links out of it, FIFOs,
 * devices, names with newlines, deep trees. So the walk opens each entry relative to its directory,
 * follows no link and reads nothing but regular files.
 */
enum {
	WORKSPACE_FILES_MAX = 10000,
	WORKSPACE_PATHS_BYTES = 1 << 20, /* sum of the lengths of all paths */
	WORKSPACE_DESCENT_MAX = 40	 /* limit of descriptors that are open at the same time */
};

enum workspace_kind {
	WORKSPACE_FILE,
	WORKSPACE_LINK,
	WORKSPACE_DIR,
	WORKSPACE_OTHER,
	WORKSPACE_MOUNT
};

struct workspace_file {
	char *path; /* relative, any bytes but NUL */
	enum workspace_kind kind;
	uint64_t size_bytes;
	int64_t changed_ns;	  /* time of the inode's change, which no program can set */
	struct timespec modified; /* time of the content's change, which a program can set */
	uint64_t ino;
	uint32_t mode;	/* permission bits */
	bool is_linked; /* a regular file that has further names */
};

struct workspace {
	struct workspace_file *files; /* sorted by path */
	size_t n_files;
	bool is_cut;	 /* a limit was reached: files are missing in the list */
	uint32_t mode;	 /* mode of the workspace itself, with its type; 0: unknown */
	uint64_t n_used; /* files on its file system, made by anyone; 0: unknown */
};

enum workspace_change { WORKSPACE_CREATED, WORKSPACE_MODIFIED, WORKSPACE_DELETED };

/* Called for each difference, in the order of paths. */
typedef void workspace_change_fn(
	void *arg, enum workspace_change change, const struct workspace_file *file);

/* List the directory @fd. Owns: the caller calls workspace_done(). Errors: ERR_IO, ERR_NO_MEMORY.
 */
int workspace_scan(struct workspace *out, int fd, struct err *err);
/* List at most @max_files entries. */
int workspace_scan_some(struct workspace *out, int fd, size_t max_files, struct err *err);
/* List only the entries of the directory itself. */
int workspace_scan_level(struct workspace *out, int fd, struct err *err);
void workspace_done(struct workspace *w);

/* Properties of a copy in which each name is a file of its own. */
struct workspace_size {
	unsigned n_dirs;      /* largest depth of directories */
	uint64_t again_bytes; /* size of files that the copy contains more than once */
};
int workspace_measure(const struct workspace *w, struct workspace_size *out, struct err *err);

/* Call @change for each difference. Mount points are omitted, since the program did not make a
 * volume. */
void workspace_compare(const struct workspace *before, const struct workspace *after,
	workspace_change_fn *change, void *arg);

/* Return the number of directories in a path. */
unsigned workspace_depth(const char *path);

/* Return the MIME type for the name's extension, by default "application/octet-stream". */
const char *workspace_mime(const char *path);
