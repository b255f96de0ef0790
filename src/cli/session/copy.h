/* Copies of files between a session's workspace and the host. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

/* The session, and a function that calls operations of its engine, as session_call(). */
struct copy_from {
	int (*call)(
		void *arg, const char *method, json_t *params, json_t **result, struct err *err);
	void *arg;
	const char *session;
};

/* Append the content of the workspace file @path. Limits: the maximum of @out. */
int copy_read(const struct copy_from *from, const char *path, struct buf *out, struct err *err);

/* Copy the workspace file @path to the directory @out_fd. */
int copy_one(const struct copy_from *from, const char *path, int out_fd, struct err *err);

/* Copy the files that @record lists as created or modified to the directory @out_fd. After an error
 * the copy continues, and the first error is reported. */
int copy_changed(const struct copy_from *from, const json_t *record, int out_fd, struct err *err);

/* Copy all files of the workspace. Returns: 1 if the workspace has more files than the list. */
int copy_all(const struct copy_from *from, int out_fd, struct err *err);

/* Write the host file @file to @path of the workspace; NULL: under its own name. Errors: ERR_LIMIT;
 * ERR_USAGE without a hint: the file's name is not UTF-8. */
int copy_put(const struct copy_from *from, const char *file, const char *path, struct err *err);
