/* Files that a step changed and that cannot be put back: the list in the record.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/shadow.h"
#include "session/start/order.h"

#include <jansson.h>

/* The clock of the times of changes in the kernel. */
int64_t lost_files_now_ns(void);

/* Append @prefix and @path, as valid UTF-8; the list is made when it is NULL. */
void lost_files_add(json_t **list, const char *prefix, const char *path);

/* Append the changed and removed files of the directory @prefix, whose files were @then. */
void lost_files_compare(json_t **list, const char *prefix, const struct workspace *then,
	const struct workspace *now);

/*
 * Append what has changed since @since_ns in volumes that may be written to: files; a directory in
 * which an entry was made, removed or renamed; the volume itself if it cannot be listed, or has
 * more files than are listed. Paths are relative to the workspace, or absolute if they are not
 * below it.
 * @workspace_fd: as the box has it; -1: the box is gone, so nothing can be listed.
 */
void lost_files_volumes(
	json_t **list, const struct order_checked *order, int workspace_fd, int64_t since_ns);

/* Append what differs from @then in the workspace @fd of the host; if @then is NULL, ".". */
void lost_files_workspace(json_t **list, const struct shadow *then, int fd);
