/* Files of the workspace that a statement names as tables. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "column.h"

enum { FILES_MAX = 64, FILES_PATH_BYTES = 1024, FILES_NAME_BYTES = 1024 };

struct db;

/* read_csv('path', …), replaced in the code by the name of its table: files.csvN. */
struct file_call {
	char path[FILES_PATH_BYTES];
	struct dialect dialect;
};

struct files {
	char *names[FILES_MAX]; /* tables made in this step */
	size_t n;
	struct file_call *calls;
	size_t n_calls;
};

/*
 * Replace each read_csv(…) in @code by a name of the same length, so that places in messages stay
 * right. Options: delim or sep, header, all_text (true or false), skip (rows); as name = value.
 * Returns: 0, or -EINVAL with the place in *@at and a sentence in *@problem.
 */
int files_rewrite(struct files *f, char *code, size_t *at, const char **problem);

/*
 * SQLite knows no table @name (which may begin with "main." or "files."): is it a file? A name as
 * it is, if it ends in .csv, .tsv, .tab or .psv, or with one of these added.
 *
 * Returns: 1 when there is a table now, 0 when there is no such file (or it was tried before), or
 * an SQLite error code, negative.
 */
int files_resolve(struct files *f, struct db *db, const char *name);

/* The file for a table's name. Returns: false when there is none. */
bool files_find(const char *name, char path[FILES_PATH_BYTES]);

/* Is this how the name of such a file ends? */
bool files_is_table(const char *path);

/* Make the table @name over @path. Returns: an SQLite code. */
int files_create(struct files *f, struct db *db, const char *name, const char *path,
	const struct dialect *dialect);

/* Drop the tables; forget them, when the connection is gone; free all. */
void files_drop(struct files *f, struct db *db);
void files_forget(struct files *f);
void files_done(struct files *f);
