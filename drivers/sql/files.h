/* Files of the workspace that a statement uses as tables. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "column.h"

enum { FILES_MAX = 64, FILES_PATH_BYTES = 1024, FILES_NAME_BYTES = 1024 };

struct db;

/* A read_csv('path', …) call, replaced in the code by a table name: files.csvN. */
struct file_call {
	char path[FILES_PATH_BYTES];
	struct dialect dialect;
};

struct files {
	char *names[FILES_MAX]; /* tables created in this step */
	size_t n;
	struct file_call *calls;
	size_t n_calls;
};

/*
 * Replace each read_csv(…) in @code by a name padded to the same length, so that positions in
 * messages stay right. Options: delim or sep, header, all_text (true or false), skip (rows); as
 * name = value. Returns: 0, or -EINVAL with the place in *@at and a sentence in *@problem.
 */
int files_rewrite(struct files *f, char *code, size_t *at, const char **problem);

/*
 * SQLite reports the table @name as unknown (it may begin with "main." or "files."): create a
 * table if there is a file. The file's name is @name itself, if it ends in .csv, .tsv, .tab or
 * .psv, or @name with one of these suffixes.
 *
 * Returns: 1 when the table exists now, 0 when there is no such file (or this was tried before),
 * or an SQLite error code, negative.
 */
int files_resolve(struct files *f, struct db *db, const char *name);

/* Find the file for a table name. Returns: false when there is none. */
bool files_find(const char *name, char path[FILES_PATH_BYTES]);

/* Does the name have a suffix of such a file? */
bool files_is_table(const char *path);

/* Create the table @name over @path. Returns: an SQLite code. */
int files_create(struct files *f, struct db *db, const char *name, const char *path,
	const struct dialect *dialect);

/* Drop the tables; forget them, when the connection is closed; free everything. */
void files_drop(struct files *f, struct db *db);
void files_forget(struct files *f);
void files_done(struct files *f);
