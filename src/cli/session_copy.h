/* Files between a session's workspace and the host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/session.h"

/*
 * Append what the file @path of session operands[0] holds. Limits: the maximum of @out.
 */
int session_copy_read(struct session_run *run, const char *path, struct buf *out, struct err *err);

/* Copy the files that @record calls created or modified below @out_fd. The first error stays. */
int session_copy_changed(
	struct session_run *run, const json_t *record, int out_fd, struct err *err);

/* Copy all files of the workspace there. */
int session_copy_all(struct session_run *run, int out_fd, struct err *err);
