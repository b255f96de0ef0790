/* Files that a client writes and removes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

struct summing;

/* @path, of a file or directory in the workspace, without "." and ".." parts and double slashes.
 * Errors: ERR_USAGE: it leads out of it. */
int file_path_clean(const char *path, char out[WIRE_PATH_BYTES], struct err *err);

/* The job's turn has come. */
void job_start_file(struct job *job);

/* The job whose file is read has ended. */
void put_forget(struct summing *summing);

/* Do again what the step @node did; @done follows. Errors: as session_change(), ERR_DAMAGED. */
typedef void file_redone_fn(void *arg, const struct err *err);
int file_redo(
	struct entry *e, const struct journal_node *node, file_redone_fn *done, struct err *err);
