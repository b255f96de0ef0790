/* Copies files between a session's workspace and the host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

/* A session, and the function that calls operations of its engine. The function has the
 * parameters and results of session_call(). */
struct copy_from {
	int (*call)(
		void *arg, const char *method, json_t *params, json_t **result, struct err *err);
	void *arg;
	const char *session;
};

/* Append the content of the workspace file @path to @out. Limits: the maximum size of @out. */
int copy_read(const struct copy_from *from, const char *path, struct buf *out, struct err *err);

/* Copy the workspace file @path to the host directory @out_fd. */
int copy_one(const struct copy_from *from, const char *path, int out_fd, struct err *err);

/* Copy the files that @record lists as created or modified to the host directory @out_fd. If a
 * file fails, continue with the others and report the first error. */
int copy_changed(const struct copy_from *from, const json_t *record, int out_fd, struct err *err);

/* Copy all files of the workspace. Returns: 0; 1 if the list of files was cut off, so that some
 * were not copied; or negative errno. */
int copy_all(const struct copy_from *from, int out_fd, struct err *err);

/* Write the host file @file to the workspace as @path. If @path is NULL, the file keeps its own
 * name. Errors: ERR_LIMIT; ERR_USAGE without a hint: the name is not UTF-8; errors of
 * program_read(). */
int copy_put(const struct copy_from *from, const char *file, const char *path, struct err *err);
