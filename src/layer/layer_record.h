/*
 * Records of the store: a JSON object in a file, which has one layer or several by their digests.
 * They keep these layers. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "layer/layer_store.h"

#include <jansson.h>
#include <stdbool.h>

/* LAYER_TEMPLATES: "layer": DIGEST. LAYER_IMAGES: "layers": [{"digest": DIGEST}]. */
enum layer_kind { LAYER_TEMPLATES, LAYER_IMAGES, LAYER_KIND_END_ };

/* Open the directory of the records of an owner, if @is_made also if it is new. Returns: fd or
 * negative errno. */
int layer_record_dir(
	const struct layer_store *s, enum layer_kind kind, const char *owner, bool is_made);

/* Read a record. Owns: the caller decrefs. Returns: NULL: there is none that can be read. */
json_t *layer_record_read(int dir, const char *file);
/* Read all records of an owner, sorted by "name"; damaged ones are left out. Owns: the caller
 * decrefs. */
json_t *layer_record_list(struct layer_store *s, enum layer_kind kind, const char *owner);
/* Write a record, in place of an older one, to disk. The caller has a lock on each of its layers.
 * Blocks. Errors: ERR_LIMIT: it is larger than LAYER_ABOUT_BYTES; ERR_IO, ERR_NO_SPACE. */
int layer_record_put(struct layer_store *s, enum layer_kind kind, const char *owner,
	const char *file, const json_t *about, struct err *err);
/* Find the digests of all layers that a record of any owner has: the members of the object *@out,
 * which the caller decrefs. Damaged records have none. Errors: a record cannot be read: ERR_ACCESS,
 * ERR_IO. */
int layer_all_wanted(const struct layer_store *s, json_t **out, struct err *err);
/* Remove the temporary files of engines that were killed while they wrote a record. */
void layer_record_sweep(const struct layer_store *s);
