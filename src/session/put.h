/* Files that a client writes and removes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/entry.h"

/* A path of the workspace, without what leads out of it. Errors: ERR_USAGE. */
int file_path_check(const char **path, struct err *err);

/* The job's turn has come. */
void job_start_file(struct job *job);

/* Do again what the step @node did; @done follows. Errors: as session_change(), ERR_DAMAGED. */
typedef void file_redone_fn(void *arg, const struct err *err);
int file_redo(
	struct entry *e, const struct journal_node *node, file_redone_fn *done, struct err *err);
