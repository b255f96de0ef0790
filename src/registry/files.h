/* Files of a workspace: list, read, write and remove them from outside the box.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"

/* List the files in the directory @path of a session that has a box; "": all files of the
 * workspace. Returns: {"files": [{path, size, mime, modified_ms}]}. A list that was cut off has
 * "truncated": true, and "directories" with the names of the directories that are directly in
 * @path. */
json_t *registry_file_list(
	struct registry *r, const char *session, const char *path, struct err *err);
/* A part of a file that a client reads: at most `limit` bytes, beginning at the byte `offset`.
 * If `limit` is 0, as many bytes are read as one read may return (READ_MAX in files.c). */
struct registry_part {
	const char *session, *path;
	uint64_t offset, limit;
};
/* Read the part @part of a file. Result: {"path", "content", "encoding": "utf-8" or "base64",
 * "size", "offset"}, and "inode" if the file has several hard links. */
void registry_file_read(
	struct registry *r, const struct registry_part *part, registry_done_fn *done, void *arg);
/* A file that a client writes or removes. Init, the first process of the box, writes or removes
 * the file, so that the file belongs to the box's user. */
struct registry_file {
	const char *session, *path;
	const char *data;
	size_t bytes;
	bool is_recursive; /* a directory may be removed too, with all that is in it */
};
void registry_file_write(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg);
void registry_file_remove(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg);
