/*
 * The store of layers, and of the templates and images that have them, below a state directory:
 *
 *   layers/DIGEST/tree         the files of a layer, whose digest is its name; never changed
 *   layers/DIGEST/about.json   of layers of images: how many they are, and how large
 *   layers/building-RANDOM/    a build: tree/, and what the builder puts beside it
 *   templates/OWNER/NAME.json  a template: {"name", "layer": DIGEST, …}; OWNER: "-" for the
 * operator of the engine, otherwise a digest of the name
 *   images/-/DIGEST.json       an image: {"name", "layers": [{"digest": DIGEST, …}], …}; its own
 * DIGEST is that of the name
 *
 * Several engines may use a store at the same time. Who uses a layer has a shared lock (flock) on
 * its directory, who builds one an exclusive lock, which becomes a shared one when the layer gets
 * its name. A layer without a record and without a lock is removed by whoever next builds or
 * removes something, and so are builds without a lock: their engine was killed. What has a digest
 * as its name is complete. Whoever gives such a name has a shared lock on layers/ for this moment,
 * since the kernel changes a lock in two steps; whoever locks what is to be removed, an exclusive
 * one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/digest.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { LAYER_ABOUT_BYTES = 64 << 20 };

struct layer_store;

/* Open the store below the directory @state, which is made when it is first written to. Errors:
 * ERR_LIMIT: the path is too long. */
int layer_store_open(struct layer_store **out, const char *state, struct err *err);
void layer_store_close(struct layer_store *s); /* NULL: does nothing */
/* Return the state directory, borrowed. */
const char *layer_store_dir(const struct layer_store *s);

/* Return whether @text is a digest: the name that a layer has. */
bool layer_is_digest(const char *text);

/* A layer in use. It stays as long as `lock_fd` is open. */
struct layer_use {
	int lock_fd;
	char digest[DIGEST_BYTES];
	char tree[PATH_MAX];
};
#define LAYER_USE_INIT ((struct layer_use){.lock_fd = -1})

/* Use the layer of this digest. Owns: the caller calls layer_use_end(). Errors:
 * ERR_NOT_FOUND, ERR_BUSY, ERR_IO, ERR_ACCESS. */
int layer_use(struct layer_use *out, struct layer_store *s, const char *digest, struct err *err);
void layer_use_end(struct layer_use *use);

/* ---- for the other files of the module ---- */

/* Remove the layers that no record has, nobody uses and that are older than @age_s, and what
 * engines have left that were killed. Add the size of their files to *@bytes, unless that is NULL.
 * Errors: ERR_ACCESS, ERR_IO, ERR_BUSY: not all records can be read, or another engine has stopped;
 * then nothing more is removed. */
int layer_sweep(struct layer_store *s, int64_t age_s, uint64_t *bytes, struct err *err);
