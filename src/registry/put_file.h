/* Writing and removing of files by a client. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

struct put_file_sum;

/* Copy @path, of a file or directory in the workspace, to @out without ".", ".." and double
 * slashes. Errors: ERR_USAGE: the path is empty, too long, or leads out of the workspace. */
int put_file_clean_path(const char *path, char out[WIRE_PATH_BYTES], struct err *err);

/* Start a JOB_FILE. */
void job_start_file(struct job *job);

/* Detach the computation of a digest from its job, which has ended. */
void put_file_forget(struct put_file_sum *summing);

/* Repeat the change of the file step @node, then call @done. Errors: as session_change(),
 * ERR_DAMAGED. */
typedef void put_file_redone_fn(void *arg, const struct err *err);
int put_file_redo(struct entry *e, const struct journal_node *node, put_file_redone_fn *done,
	struct err *err);
