/* A directory of plain files that stands for "/", gone with its scope. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>

struct tree {
	char root[64];
	int fd;
};

struct tree tree_new(void);
void tree_done(struct tree *t);
#define TREE cleanup(tree_done) struct tree

/* Write a file; @path begins with "/", its parents are made. */
void tree_put_bytes(struct tree *t, const char *path, const char *text, size_t bytes);
void tree_put(struct tree *t, const char *path, const char *text);

/* The path of the host. Returns: one of four texts that are used in turn. */
const char *tree_path(const struct tree *t, const char *path);

bool tree_has(const struct tree *t, const char *path);

/* What a file holds, or NULL; one answer at a time. */
const char *tree_get(const struct tree *t, const char *path);

/* Run @run with no byte allowed into any file, as a write the kernel refuses. */
void tree_no_writes(void (*run)(void *arg), void *arg);
