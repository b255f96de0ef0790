/* The images in the store of layers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "image/reference.h"
#include "layer/layer_store.h"

#include <jansson.h>
#include <stdint.h>

/*
 * A record of an image: {"name", "digest": of its manifest, "layers": [{"digest", "bytes", "files",
 * "left_out"}], "config": as image_config_read(), "bytes", "files", "made_ms"}. Layers: the lowest
 * first.
 */

/* Make a record of now. @layers: the member, which is taken. Owns: the caller decrefs. */
json_t *image_store_about(
	const struct image_ref *name, const char *digest, json_t *layers, const json_t *config);
/* Keep a record. The caller has a lock on each of its layers. Blocks: until it is on disk. Errors:
 * those of layer_record_put(). */
int image_store_put(struct layer_store *s, const json_t *about, struct err *err);

/* Read the record of an image: by its name; or, if no image has that name, by the first 6 or more
 * digits of its digest, perhaps after "sha256:". Owns: the caller decrefs. Returns: NULL and @err.
 * Errors: ERR_USAGE: no name, or the digits of several images; ERR_NOT_FOUND with a hint;
 * ERR_DAMAGED. */
json_t *image_store_get(struct layer_store *s, const char *name, struct err *err);
/* Read all records, sorted by name. Owns: the caller decrefs. */
json_t *image_store_list(struct layer_store *s);
/* Remove an image. Its layers go, too, unless another record has them, or they are used. Blocks:
 * for the time of the removal. Errors: those of image_store_get(); ERR_USAGE: @name is a digest,
 * and the image has several names; ERR_IO, ERR_ACCESS. */
int image_store_remove(struct layer_store *s, const char *name, struct err *err);
/* Remove layers that nobody has, and parts of downloads, if they are older than @age_s. *@bytes:
 * their size. Blocks. Errors: those of layer_sweep(). */
int image_store_prune(struct layer_store *s, int64_t age_s, uint64_t *bytes, struct err *err);
