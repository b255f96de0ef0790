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
/* The range of a file to read; `limit` 0: as much as is allowed. Result: {"path", "content",
 * "encoding": "utf-8" or "base64", "size", "offset"} */
struct registry_part {
	const char *session, *path;
	uint64_t offset, limit;
};
void registry_file_read(
	struct registry *r, const struct registry_part *part, registry_done_fn *done, void *arg);
/* A file to write or remove. Init, the first process of the box, writes and removes it, so that
 * the file belongs to the box's user. */
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
