/* Bringing the layers of an image into the store, and then its record. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "image/manifest.h"
#include "image/pull/intake.h"
#include "image/reference.h"

#include <jansson.h>
#include <uv.h>

struct assembly;

/* What becomes of a layer: of @bytes, @moved are downloaded or unpacked. */
struct pull_progress {
	const char *digest;
	unsigned layer, n_layers; /* from 0, the lowest first */
	enum intake_phase phase;
	uint64_t moved, bytes;
};

struct assembly_order {
	uv_loop_t *loop;
	struct layer_store *store;
	struct image_ref name;
	char digest[DIGEST_BYTES];	       /* of the image */
	const struct image_manifest *manifest; /* borrowed until assembly_close() */
	const json_t *config;		       /* as image_config_read(); borrowed likewise */
	struct remote *remote;		       /* where the layers are; or NULL: */
	/* Open the file that has a layer. Returns: fd, which becomes the assembly's, or negative
	 * errno with @err. *@is_checked: it has the digest of the layer, and nobody changes it. */
	int (*open)(void *arg, unsigned layer, bool *is_checked, struct err *err);
	/* May be NULL. */
	void (*progress)(void *arg, const struct pull_progress *progress);
	/* Called once, from the loop. @about: the record of the image, which is in the store now,
	 * borrowed; NULL: see @err. */
	void (*done)(void *arg, const json_t *about, const struct err *err);
	void *arg;
};

/* Begin. */
void assembly_start(struct assembly **out, const struct assembly_order *order);
/* Return whether the record is being written, so that the image can no more be stopped. */
bool assembly_is_recording(const struct assembly *a);
/* Let go of the layers. If `done` was not called yet, it will not be. @closed is called from the
 * loop when nothing of it is left. */
void assembly_close(struct assembly *a, void (*closed)(void *arg));
