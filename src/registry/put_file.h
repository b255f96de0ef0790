/* Files that a client writes and removes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

struct put_file_sum;

/* @path, of a file or directory in the workspace, without "." and ".." parts and double slashes.
 * Errors: ERR_USAGE: it leads out of it. */
int put_file_clean_path(const char *path, char out[WIRE_PATH_BYTES], struct err *err);

/* The job's turn has come. */
void job_start_file(struct job *job);

/* The job whose file is read has ended. */
void put_file_forget(struct put_file_sum *summing);

/* Do again what the step @node did; @done follows. Errors: as session_change(), ERR_DAMAGED. */
typedef void put_file_redone_fn(void *arg, const struct err *err);
int put_file_redo(struct entry *e, const struct journal_node *node, put_file_redone_fn *done,
	struct err *err);
