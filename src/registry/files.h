/* Files of a workspace: list, read, write and remove them from outside the box.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"

/* Return {"files": [{path, size, mime, modified_ms}]}: the files in the directory @path of a
 * session that has a box; "": of the whole workspace. A list that was cut is "truncated", and has
 * the "directories" that are directly in @path. */
json_t *registry_file_list(
	struct registry *r, const char *session, const char *path, struct err *err);
/* The part of a file to read. Result: {"path", "content", "encoding": "utf-8" or "base64", "size",
 * "offset"} */
struct registry_part {
	const char *session, *path;
	uint64_t offset, limit;
};
void registry_file_read(
	struct registry *r, const struct registry_part *part, registry_done_fn *done, void *arg);
/* A file to write or remove. The box's own init does it, so that the box owns the file. */
struct registry_file {
	const char *session, *path;
	const char *data;
	size_t bytes;
	bool is_recursive; /* remove a directory too, with its content */
};
void registry_file_write(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg);
void registry_file_remove(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg);
