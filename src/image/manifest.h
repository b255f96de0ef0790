/* The documents of an image: index, manifest and configuration. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/digest.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	IMAGE_DOCUMENT_BYTES = 4 << 20, /* of an index, a manifest or a configuration */
	IMAGE_LAYERS_MAX = 128,
};
#define IMAGE_LAYER_BYTES (UINT64_C(64) << 30) /* of a layer as it is sent */

/* What a document says of another document or a layer. */
struct image_blob {
	char digest[DIGEST_BYTES]; /* SHA-256 */
	uint64_t bytes;
};

/* An index or a manifest. */
struct image_manifest {
	bool is_index;
	struct image_blob chosen; /* of an index: the manifest in it for this platform */
	/* of a manifest: */
	struct image_blob config;
	struct image_blob layers[IMAGE_LAYERS_MAX]; /* the lowest first */
	unsigned n_layers;
};

/* Check the size of a layer. Errors: ERR_LIMIT. */
int image_check_size(uint64_t bytes, struct err *err);

/* Return the architecture of this host, as images call it: "amd64", "arm64" or "riscv64". */
const char *image_architecture(void);

/*
 * Read an index or a manifest, for Linux on @architecture.
 * Source: OCI image specification, image-index.md and manifest.md; Docker's image manifest, schema
 * 2.
 * Errors: ERR_DAMAGED: it is neither, or its layers are not tar archives, or there are over
 * IMAGE_LAYERS_MAX; ERR_NOT_FOUND: nothing for this platform; the message says what there is.
 */
int image_manifest_read(const char *text, size_t bytes, const char *architecture,
	struct image_manifest *out, struct err *err);

/*
 * Read a configuration, for an image of @n_layers layers. Returns an object with what boxes use:
 * {"env": [text], "entrypoint": [text], "cmd": [text], "workdir": text, "user": text, "labels": {},
 * "shell": [text], "stop_signal": text, "ports": [text], "volumes": [text], "created": text,
 * "architecture": text, "diffs": [digests of the layers before they were compressed]}; what the
 * configuration lacks is missing. Owns: the caller decrefs.
 * Source: OCI image specification, config.md.
 * Returns: NULL and @err. Errors: ERR_DAMAGED; ERR_NOT_FOUND: it is for another platform.
 */
json_t *image_config_read(const char *text, size_t bytes, const char *architecture,
	unsigned n_layers, struct err *err);
