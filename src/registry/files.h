/* Files of a workspace, from outside. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/registry.h"

/*
 * {"files": [{path, size, mime, modified_ms}]}; of a session that has a box: those in the directory
 * @path, "" for all. When there are more than are looked at it is "truncated", and has the
 * "directories" that lie directly there.
 */
json_t *registry_file_list(
	struct registry *r, const char *session, const char *path, struct err *err);
/* {"path", "content", "encoding": "utf-8" or "base64", "size", "offset"} */
struct registry_part {
	const char *session, *path;
	uint64_t offset, limit;
};
void registry_file_read(
	struct registry *r, const struct registry_part *part, registry_done_fn *done, void *arg);
/* Written and removed by the box's own init, so that the box owns what it gets. */
struct registry_file {
	const char *session, *path;
	const char *data;
	size_t bytes;
	bool is_recursive; /* removed also when it is a directory */
};
void registry_file_write(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg);
void registry_file_remove(
	struct registry *r, const struct registry_file *file, registry_done_fn *done, void *arg);
