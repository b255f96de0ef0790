/* Files that a step changed and that are not put back: what is known of them.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/shadow.h"
#include "session/start/order.h"

#include <jansson.h>

/* The clock that the kernel takes the times of changes from. */
int64_t lost_files_now_ns(void);

/* Append @prefix and @path, repaired to be UTF-8; the list is made when it is NULL. */
void lost_files_add(json_t **list, const char *prefix, const char *path);

/* Append what has been changed or removed of the files @then of the directory @prefix. */
void lost_files_compare(json_t **list, const char *prefix, const struct workspace *then,
	const struct workspace *now);

/*
 * Append what has changed in volumes that may be written to since @since_ns: files; a directory in
 * which something was made, removed or renamed; the volume itself where it cannot be listed, or has
 * more files than are listed. Paths are relative to the workspace, or absolute where they are not
 * below it.
 * @workspace_fd: as the box has it; -1: the box is gone, so nothing can be listed.
 */
void lost_files_volumes(
	json_t **list, const struct order_checked *order, int workspace_fd, int64_t since_ns);

/* Append what differs from @then in the workspace @fd of the host; without @then (NULL), ".". */
void lost_files_workspace(json_t **list, const struct shadow *then, int fd);
