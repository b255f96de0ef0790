/* Lists files that a step changed and that cannot be restored.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/box/box.h"
#include "session/box/shadow.h"
#include "session/start/order.h"

#include <jansson.h>

/* Return the present time, by the clock from which the kernel takes the times of files. */
int64_t lost_files_now_ns(void);

/* Append the path @prefix + @path to *@list, as valid UTF-8. If *@list is NULL, a list is made. */
void lost_files_add(json_t **list, const char *prefix, const char *path);

/* Compare two lists of the files in the directory @prefix. Append the files of the list @then
 * that are changed or missing in the list @now. */
void lost_files_compare(json_t **list, const char *prefix, const struct workspace *then,
	const struct workspace *now);

/*
 * Append what changed in writable volumes since @since_ns:
 *
 * - changed files
 * - directories in which an entry was made, removed or renamed
 * - in a box with an image: what changed of it
 * - a volume itself, if it cannot be listed or has too many files
 *
 * Paths are relative to the workspace, or absolute for a volume outside of the workspace.
 * If the box has ended, @box is NULL: then every writable volume itself is appended.
 */
void lost_files_volumes(
	json_t **list, const struct order_checked *order, const struct box *box, int64_t since_ns);

/* Append the files that differ between the saved list @then and the directory @fd of the host,
 * which is listed now. Also append "." (the whole workspace) if @then is NULL, if @fd cannot be
 * listed, or if one of the two lists is not complete. */
void lost_files_workspace(json_t **list, const struct shadow *then, int fd);
