/* Files that a client writes and removes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "registry/entry.h"

struct put_file_sum;

/* Copy @path to @out without ".", "..", double slashes and a leading "/home/user/": "a//../b/."
 * becomes "b". Errors: ERR_USAGE: @path is empty, too long, or leads out of the workspace. */
int put_file_clean_path(const char *path, char out[WIRE_PATH_BYTES], struct err *err);

/* Start a job of kind JOB_FILE, which writes or removes a file. */
void job_start_file(struct job *job);

/* Tell a running computation of a digest that its job has ended, so that its result is dropped. */
void put_file_forget(struct put_file_sum *summing);

/* In a replay, repeat the change of the file step @node, then call @done. Errors: as
 * session_change(), ERR_DAMAGED. */
typedef void put_file_redone_fn(void *arg, const struct err *err);
int put_file_redo(struct entry *e, const struct journal_node *node, put_file_redone_fn *done,
	struct err *err);
