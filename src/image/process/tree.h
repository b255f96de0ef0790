/* The tree that a layer becomes: entries of an archive, put into a directory for overlays.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "image/process/wire.h"

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct tree;

/*
 * Begin to fill the empty directory @fd, which stays the caller's.
 * Limits: what is in @request.
 * Errors: ERR_NO_MEMORY.
 */
int tree_open(struct tree **out, int fd, const struct unpack_request *request, struct err *err);
void tree_close(struct tree *t); /* NULL: does nothing */

enum tree_kind { TREE_FILE, TREE_DIR, TREE_LINK, TREE_HARD_LINK, TREE_FIFO, TREE_OTHER };

/* An entry of an archive, as the archive describes it. */
struct tree_entry {
	enum tree_kind kind;
	const char *path;   /* in the archive */
	const char *target; /* TREE_LINK: the text of the link; TREE_HARD_LINK: a path in the
			     * archive */
	mode_t mode;
	struct timespec time; /* of the last modification */
	uint64_t bytes;	      /* TREE_FILE: the size, holes included */
};

/*
 * Make an entry. What had its path before is removed, unless both are directories. After a file,
 * tree_write() writes its contents.
 * Errors: ERR_USAGE: the archive has a path or link that no layer may have; ERR_LIMIT;
 * ERR_NO_SPACE, ERR_IO.
 */
int tree_add(struct tree *t, const struct tree_entry *e, struct err *err);
/* Write a piece of the file that tree_add() has made last, at the offset @at. Errors: as
 * tree_add(). */
int tree_write(struct tree *t, const void *data, size_t bytes, uint64_t at, struct err *err);
/* Set the times of all directories, when nothing more is added. Errors: ERR_IO. */
int tree_finish(struct tree *t, struct err *err);
/* Return what has been unpacked so far. `read` is 0. */
struct unpack_counts tree_counts(const struct tree *t);
