/* Lists files that a step changed and that cannot be restored.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/shadow.h"
#include "session/start/order.h"

#include <jansson.h>

/* Return the time by the clock that the kernel uses for times of change. */
int64_t lost_files_now_ns(void);

/* Append @prefix and @path, as valid UTF-8, to @list, which is made if it is NULL. */
void lost_files_add(json_t **list, const char *prefix, const char *path);

/* Append files of the directory @prefix that were changed or removed since the list @then. */
void lost_files_compare(json_t **list, const char *prefix, const struct workspace *then,
	const struct workspace *now);

/*
 * Append changes since @since_ns in writable volumes: changed files; directories in which an entry
 * was made, removed or renamed; the volume itself if it cannot be listed or has too many files.
 * Paths are relative to the workspace, or absolute if they are not below it.
 * @workspace_fd: the workspace as the box sees it; -1: the box is over, so each volume itself is
 * appended.
 */
void lost_files_volumes(
	json_t **list, const struct order_checked *order, int workspace_fd, int64_t since_ns);

/* Append the differences between @then and the workspace @fd of the host, or "." if @then is NULL.
 */
void lost_files_workspace(json_t **list, const struct shadow *then, int fd);
