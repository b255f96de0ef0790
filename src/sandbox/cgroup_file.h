/* Small files and directories of /proc and cgroup mounts, read with bounds and without heap.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CGROUP_FILE_BYTES = 1024, CGROUP_LINE_BYTES = 4096, CGROUP_LINES_MAX_BYTES = 4 << 20 };

/* Format a path. Returns: 0, or -ENAMETOOLONG with @out empty. */
int cgroup_file_path(char *out, size_t room, const char *fmt, ...) attr_printf(3, 4);

/*
 * Read the file @path under @dir_fd (or AT_FDCWD) as text.
 * Limits: what does not fit is cut; @out always ends in NUL.
 * Returns: bytes read, or negative errno.
 */
ssize_t cgroup_file_read(int dir_fd, const char *path, char *out, size_t room);

/* Write @text in one piece; @flags is added to open's. Returns: 0, or negative errno. */
int cgroup_file_write(const char *path, const char *text, int flags);

/* Is @word one of the words of @text, which stand between characters of @separators? */
bool cgroup_file_has_word(const char *text, const char *word, const char *separators);

/*
 * Parse the decimal number at the start of @text or, with @key, after "key" and blanks (or "key:")
 * at the start of a line.
 * Returns: 0, -ENOENT without such a line, -EINVAL when no number is there, -ERANGE.
 */
int cgroup_file_number(const char *text, const char *key, uint64_t *value);

/*
 * Lines of a file of any size, one at a time.
 * Limits: a line that does not fit is dropped, as is a last line without newline (it was cut);
 * after CGROUP_LINES_MAX_BYTES the file counts as ended.
 * Owns: the file descriptor, until cgroup_lines_close().
 */
struct cgroup_lines {
	int fd;
	size_t start, end, total_bytes;
	bool is_dropping;
	char data[CGROUP_LINE_BYTES];
};

/* Returns: 0, or negative errno; the lines may be closed either way. */
int cgroup_lines_open(struct cgroup_lines *lines, const char *path);

/* Returns: the next line without its newline, valid until the next call, or NULL. */
char *cgroup_lines_next(struct cgroup_lines *lines);
void cgroup_lines_close(struct cgroup_lines *lines);

/*
 * Call @visit for each entry of the directory @path under @dir_fd, until it returns false.
 * Returns: 0, or negative errno.
 */
typedef bool cgroup_visit_fn(void *arg, const char *name);
int cgroup_file_each(int dir_fd, const char *path, cgroup_visit_fn *visit, void *arg);

/* Make a directory; one of that name that is empty is replaced. Returns: 0, or negative errno. */
int cgroup_file_mkdir(const char *path, bool is_fake);

/*
 * Remove a cgroup. In a tree for tests (@is_fake) its files are plain ones and go first.
 * Returns: 0, or negative errno.
 */
int cgroup_file_rmdir(const char *path, bool is_fake);
