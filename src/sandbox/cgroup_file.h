/* Access to small files and directories of /proc and cgroup mounts, with fixed buffers and no heap.
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
 * Read the file @path, relative to the directory @dir_fd (or AT_FDCWD), as a string.
 * Limits: text that does not fit into @room bytes is cut off; @out always ends in NUL.
 * Returns: the bytes read, or negative errno.
 */
ssize_t cgroup_file_read(int dir_fd, const char *path, char *out, size_t room);

/* Open the file @path, write @text to it, and close it. @flags are added to the flags of
 * open(2). Returns: 0, or negative errno. */
int cgroup_file_write(const char *path, const char *text, int flags);

/* Return whether @text, a list of words between characters of @separators, contains @word. */
bool cgroup_file_has_word(const char *text, const char *word, const char *separators);

/*
 * Parse a decimal number: without @key, the one at the start of @text; with @key, the one in the
 * line "KEY NUMBER" or "KEY: NUMBER".
 * Returns: 0; -ENOENT if no line has the key; -EINVAL if no number is there; -ERANGE if the number
 * is too large.
 */
int cgroup_file_number(const char *text, const char *key, uint64_t *value);

/*
 * Reads a file of any size line by line.
 * Limits: a line longer than CGROUP_LINE_BYTES is dropped. A last line without newline is dropped
 * too, since it may be incomplete. The reader stops after CGROUP_LINES_MAX_BYTES.
 * Owns: the file descriptor, until cgroup_lines_close().
 */
struct cgroup_lines {
	int fd;
	size_t start, end, total_bytes;
	bool is_dropping;
	char data[CGROUP_LINE_BYTES];
};

/* Open the file @path, to read it line by line with cgroup_lines_next(). Returns: 0, or negative
 * errno. The caller may call cgroup_lines_close() even after an error. */
int cgroup_lines_open(struct cgroup_lines *lines, const char *path);

/* Return the next line without its newline, or NULL after the last one. The line is valid until the
 * next call. */
char *cgroup_lines_next(struct cgroup_lines *lines);
void cgroup_lines_close(struct cgroup_lines *lines);

/*
 * Call @visit for each entry of the directory @path, relative to @dir_fd, until @visit returns
 * false. "." and ".." are entries, too.
 * Returns: 0, or negative errno.
 */
typedef bool cgroup_visit_fn(void *arg, const char *name);
int cgroup_file_each(int dir_fd, const char *path, cgroup_visit_fn *visit, void *arg);

/* Make a directory. An existing empty one is replaced. Returns: 0, or negative errno. */
int cgroup_file_mkdir(const char *path, bool is_fake);

/*
 * Remove a cgroup's directory. The kernel removes the files in it; a test's directory (@is_fake)
 * has plain files, which are removed first.
 * Returns: 0, or negative errno.
 */
int cgroup_file_rmdir(const char *path, bool is_fake);
