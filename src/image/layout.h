/* An image in a directory: an OCI image layout, or what `docker save` writes, unpacked.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "image/manifest.h"
#include "image/reference.h"

#include <jansson.h>
#include <stdbool.h>

enum { LAYOUT_PATH_BYTES = 256, LAYOUT_CALLED_BYTES = 64 };

struct layout {
	int dir; /* borrowed */
	struct image_manifest manifest;
	json_t *config;		   /* as image_config_read() */
	char digest[DIGEST_BYTES]; /* of the manifest, or of the index that has it; of docker's old
				    * form, which has no manifest: of the configuration */
	/* What the directory calls the image, in full; "" if it does not, or by no full name:
	 * `called` is the beginning of what it says. */
	char name[IMAGE_NAME_BYTES];
	char called[LAYOUT_CALLED_BYTES];
	/* The files of the layers, relative to `dir`. */
	char paths[IMAGE_LAYERS_MAX][LAYOUT_PATH_BYTES];
	bool is_saved; /* in docker's old form; the digests of the layers are not known */
};

/*
 * Read the image in the directory @dir; the one that is called @ref, or the only one if @ref is
 * NULL. Whoever made the directory is not trusted: no file outside of it is read.
 * Source: OCI image specification, image-layout.md; Docker's image specification 1.2, "Combined
 * Image JSON + Filesystem Changeset Format".
 * Owns: the caller calls layout_done(). Blocks: for the time of reading the documents.
 * Returns: true; false: it is no such directory, and @err has the code ERR_NONE; or @err. Errors:
 * those of image_manifest_read() and image_config_read(); ERR_USAGE: there are several images;
 * ERR_NOT_FOUND: none is called @ref, or a file is missing; ERR_DAMAGED, ERR_IO.
 */
bool layout_read(struct layout *out, int dir, const char *ref, struct err *err);
void layout_done(struct layout *l);
/* Open the file of a layer. Returns: fd or negative errno. Errors: ERR_NOT_FOUND, ERR_IO. */
int layout_open(const struct layout *l, unsigned layer, struct err *err);
