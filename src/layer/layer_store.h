/*
 * The store of layers and of the templates that have them, below a state directory:
 *
 *   layers/DIGEST/tree         the files of a layer, whose digest is its name; never changed
 *   layers/building-RANDOM/    a build: tree/, and what the builder puts beside it
 *   templates/OWNER/NAME.json  a template: {"name", "layer": DIGEST, …}; OWNER: "-" for the
 * operator of the engine, otherwise a digest of the name
 *
 * Several engines may use a store at the same time. Who uses a layer has a shared lock (flock) on
 * its directory, who builds an exclusive one. A layer without a template and without a lock is
 * removed by whoever next builds or removes something, and so are builds without a lock: their
 * engine was killed. What has a digest as its name is complete.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "layer/layer_tree.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

enum { LAYER_NAME_BYTES = 64, LAYER_OWNER_MAX = 32, LAYER_ABOUT_BYTES = 64 << 20 };

struct layer_store;

/* Open the store below the directory @state, which is made when it is first written to. Errors:
 * ERR_LIMIT: the path is too long. */
int layer_store_open(struct layer_store **out, const char *state, struct err *err);
void layer_store_close(struct layer_store *s); /* NULL: does nothing */
/* Return the state directory, borrowed. */
const char *layer_store_dir(const struct layer_store *s);

/* Check the name of a template: letters, digits, '-', '_' and '.', not first '.' or '-'. Errors:
 * ERR_USAGE. */
int layer_check_name(const char *name, struct err *err);

/* ---- building ---- */

/* A build. `tree_fd` is the directory of the layer, `dir_fd` the one around it, at `path`. */
struct layer_build {
	struct layer_store *store;
	int dir_fd, tree_fd;
	char path[PATH_MAX];
};
#define LAYER_BUILD_INIT ((struct layer_build){.dir_fd = -1, .tree_fd = -1})

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

/* ---- using ---- */

/* A layer in use. It stays as long as `lock_fd` is open. */
struct layer_use {
	int lock_fd;
	char digest[DIGEST_BYTES];
	char tree[PATH_MAX];
};
#define LAYER_USE_INIT ((struct layer_use){.lock_fd = -1})

/* Use the layer of this digest. Owns: the caller calls layer_use_end(). Errors:
 * ERR_NOT_FOUND, ERR_BUSY. */
int layer_use(struct layer_use *out, struct layer_store *s, const char *digest, struct err *err);
void layer_use_end(struct layer_use *use);

/* ---- templates ---- */

/* Read a template. Owns: the caller decrefs. Returns: NULL and @err. Errors: ERR_NOT_FOUND with a
 * hint, ERR_DAMAGED, ERR_USAGE. */
json_t *layer_store_get(
	struct layer_store *s, const char *owner, const char *name, struct err *err);
/* Read all templates of an owner, sorted by name. Damaged ones are left out. Owns: the caller
 * decrefs. */
json_t *layer_store_list(struct layer_store *s, const char *owner);
/* Remove a template. *@is_in_use: its layer is used, and goes later. Blocks: for the time of the
 * removal. Errors: ERR_NOT_FOUND, ERR_IO, ERR_ACCESS. */
int layer_store_remove(struct layer_store *s, const char *owner, const char *name, bool *is_in_use,
	struct err *err);
