/* The files of a workspace: listed and compared. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * A workspace holds whatever its programs made: links out of it, FIFOs, devices, names with
 * newlines, deep trees. So the walk opens each entry relative to its directory and follows no link,
 * reads nothing but regular files, and stops at limits.
 */
enum {
	WORKSPACE_FILES_MAX = 10000,
	WORKSPACE_PATHS_BYTES = 1 << 20, /* of all paths together */
	WORKSPACE_DESCENT_MAX = 40	 /* descriptors open at once */
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
	int64_t changed_ns;	  /* of the inode: no program can set it */
	struct timespec modified; /* of the content; a program can set it */
	uint64_t ino;
	uint32_t mode;	/* permission bits */
	bool is_linked; /* it is a file that has other names, too */
};

struct workspace {
	struct workspace_file *files; /* sorted by path */
	size_t n_files;
	bool is_cut;	 /* a limit was reached: there are more files */
	uint32_t mode;	 /* of the directory itself, with its type; 0: unknown */
	uint64_t n_used; /* files on its file system, whoever made them; 0: unknown */
};

enum workspace_change { WORKSPACE_CREATED, WORKSPACE_MODIFIED, WORKSPACE_DELETED };

/* Called for each difference, in order of path. */
typedef void workspace_change_fn(
	void *arg, enum workspace_change change, const struct workspace_file *file);

/* Walk the directory @fd. Owns: the caller calls workspace_done(). Errors: ERR_IO, ERR_NO_MEMORY.
 */
int workspace_scan(struct workspace *out, int fd, struct err *err);
/* The same, with at most @max_files entries. */
int workspace_scan_some(struct workspace *out, int fd, size_t max_files, struct err *err);
/* List only the entries of the directory itself. */
int workspace_scan_level(struct workspace *out, int fd, struct err *err);
void workspace_done(struct workspace *w);

/* The size of a copy in which each name is a file of its own. */
struct workspace_size {
	unsigned n_dirs;      /* the depth of directories */
	uint64_t again_bytes; /* of files that the copy has under another name already */
};
int workspace_measure(const struct workspace *w, struct workspace_size *out, struct err *err);

/* Call @change for each difference. Mount points are left out: what a volume hides is not the
 * program's doing. */
void workspace_compare(const struct workspace *before, const struct workspace *after,
	workspace_change_fn *change, void *arg);

/* The number of directories in a path. */
unsigned workspace_depth(const char *path);

/* The MIME type by the ending of a name; "application/octet-stream" when unknown. */
const char *workspace_mime(const char *path);
