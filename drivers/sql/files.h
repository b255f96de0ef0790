/*
 * Use files of the workspace as tables in a statement.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "column.h"

enum { FILES_MAX = 64, FILES_PATH_BYTES = 1024, FILES_NAME_BYTES = 1024 };

struct db;

/* A read_csv('path', …) call. In the step's code, the table name files.csvN replaces it. */
struct file_call {
	char path[FILES_PATH_BYTES];
	struct dialect dialect;
};

struct files {
	char *names[FILES_MAX]; /* names of the tables created in this step */
	size_t n;
	struct file_call *calls;
	size_t n_calls;
};

/*
 * Replace each read_csv(…) in @code by a table name, padded to the same length so that positions in
 * messages remain right. The options are written name = value: delim or sep (one character), header
 * and all_text (true or false), skip (a number of rows).
 * Returns: 0, or -EINVAL with the position of the call in *@at and a sentence in *@problem.
 */
int files_rewrite(struct files *f, char *code, size_t *at, const char **problem);

/*
 * Create a table for @name, which SQLite has reported as unknown, if there is a file of that name.
 * @name may begin with "files.". The file is called @name, if that ends in .csv, .tsv, .tab or
 * .psv, or @name with one of these suffixes.
 *
 * Returns: 1 when the table was created; 0 when the file does not exist, or the table was already
 * created in this step; or an SQLite error code, negative.
 */
int files_resolve(struct files *f, struct db *db, const char *name);

/*
 * Find the file for a table name, and write its path to @path. Returns: false when there is no such
 * file.
 */
bool files_find(const char *name, char path[FILES_PATH_BYTES]);

/* Return whether @path ends in .csv, .tsv, .tab or .psv. */
bool files_is_table(const char *path);

/* Create the table @name over the file @path. Returns: an SQLite code. */
int files_create(struct files *f, struct db *db, const char *name, const char *path,
	const struct dialect *dialect);

/*
 * Undo files_create() in three ways: _drop drops the tables; _forget only forgets them, because the
 * connection was closed; _done forgets them and frees all memory.
 */
void files_drop(struct files *f, struct db *db);
void files_forget(struct files *f);
void files_done(struct files *f);
