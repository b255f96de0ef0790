/* The operations of the program. Each gets checked arguments, and writes its answer to stdout, as
 * lines of JSON. Errors: ERR_NOT_FOUND, ERR_ACCESS, ERR_USAGE, ERR_NO_SPACE, ERR_LIMIT, ERR_IO,
 * ERR_NO_MEMORY. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Answers: {entry}. */
int files_stat(const char *path, struct err *err);
/* List a directory to @depth. Answers: a line for each entry, and {"end": true, "truncated": …}. */
int files_list(const char *path, unsigned depth, struct err *err);
/* Answers: {"is_new": …, "entry": {entry}}. */
int files_make(const char *path, bool has_parents, struct err *err);
/* Answers: {entry}, of the destination. */
int files_move(const char *source, const char *destination, struct err *err);
/* Answers: {}. */
int files_remove(const char *path, bool is_recursive, bool may_be_missing, struct err *err);
/* Answers: {"size": bytes of the file, "entry": {entry}} on stderr, then its bytes on stdout. */
int files_read(const char *path, int64_t offset, int64_t limit, struct err *err);

struct files_write {
	const char *path;
	int64_t bytes; /* of the content, which is read from stdin */
	bool is_append;
	int mode;	    /* permissions; -1: leave them */
	const char *prefix; /* of the attributes that are set, or NULL */
	char *const *attributes;
};
/* Answers: {entry}. */
int files_write(const struct files_write *w, struct err *err);

/* Watch a directory, and write a line for each event. Returns only after an error. */
int files_watch(const char *path, bool is_recursive, bool has_entries, struct err *err);

/* Make the directory that is to contain @path, and those above it. */
int files_make_parents(const char *path, struct err *err);
/* Copy a file or a directory to @to, which must not exist. */
int files_copy(const char *from, const char *to, struct err *err);
/* Remove the file or directory @name of @dir, with everything in it. @path: for messages. */
int files_remove_at(int dir, const char *name, const char *path, struct err *err);
