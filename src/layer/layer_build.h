/* Building of layers for the store. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "layer/layer_template.h"
#include "layer/layer_tree.h"

#include <jansson.h>
#include <limits.h>

/* A build. `tree_fd` is the directory of the layer, `dir_fd` the one around it, at `path`. If there
 * was such a layer, `other_fd` has the lock on it. */
struct layer_build {
	struct layer_store *store;
	int dir_fd, tree_fd, other_fd;
	char path[PATH_MAX];
};
#define LAYER_BUILD_INIT ((struct layer_build){.dir_fd = -1, .tree_fd = -1, .other_fd = -1})

/* Begin a build of a layer. Owns: end it with layer_build_end(). Errors: ERR_IO, ERR_NO_SPACE,
 * ERR_ACCESS. */
int layer_build_open(struct layer_build *b, struct layer_store *s, struct err *err);
/*
 * Put the tree into the store under the name @digest. If there is a layer of this name, that one is
 * used. The layer stays until layer_build_end(), and longer if a record has it by then. Whatever is
 * beside the tree is removed. Blocks: until it is on disk. Errors: ERR_IO, ERR_NO_SPACE, ERR_BUSY.
 */
int layer_build_place(struct layer_build *b, const char *digest, struct err *err);

/*
 * Begin a build for the template @name of @owner. Owns: end it with layer_build_end().
 * Errors: ERR_QUOTA: the owner has LAYER_OWNER_MAX other templates; ERR_USAGE, ERR_IO,
 * ERR_NO_SPACE, ERR_ACCESS.
 */
int layer_build_begin(struct layer_build *b, struct layer_store *s, const char *owner,
	const char *name, struct err *err);
/*
 * Put the tree, which layer_seal() has named @digest, into the store, and give it to a template. If
 * there is a layer of this digest, that one is used. @about: the object of the template; it gets
 * the member "layer". Whatever is beside the tree is removed. Blocks: until it is on disk. Errors:
 * ERR_LIMIT: @about is larger than LAYER_ABOUT_BYTES; ERR_IO, ERR_NO_SPACE.
 */
int layer_build_commit(struct layer_build *b, const char *digest, const char *owner, json_t *about,
	struct err *err);
/* End a build. If it was not committed, it leaves nothing. Blocks: for the time of the removal. */
void layer_build_end(struct layer_build *b);
