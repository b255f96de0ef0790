/* The image of an order: its layers, and what its configuration says.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "layer/layer_store.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An image as a box uses it. `about`: {"name", "digest", "layers": [digest], "config": {"env":
 * [NAME=VALUE], "entrypoint": [text], "cmd": [text], "workdir": text, "user": text}}; what the
 * configuration lacks is missing. With --rootfs there is no image, but a directory, which is used
 * like the one layer of an image without a configuration.
 */
struct order_image {
	const json_t *about; /* borrowed; NULL for a directory */
	/* the directories of the layers, the lowest first; NULL until order_layer_use() */
	const char *const *trees;
	size_t n_trees;
};

/* Return what orders keep of a record of the store (image_store.h). Owns: the caller decrefs. */
json_t *order_image_about(const json_t *record);
/* Check an object that a text contains. Returns: whether it is as order_image_about() makes it. */
bool order_image_is_valid(const json_t *about);

/* Return the environment of the configuration: *@n strings NAME=VALUE. Owns: the caller frees the
 * array. */
const char **order_image_env(const struct order_image *image, size_t *n);
/* Return the working directory of the configuration, borrowed, or NULL if it names none but "/". */
const char *order_image_workdir(const json_t *about);

/* Return the value of USER for a user that is not root: the name of the configuration, or "user" if
 * it is a number. Static, valid until the next call. */
const char *order_image_user_name(const json_t *about);

/*
 * Look up the user of the configuration in the image's /etc/passwd and /etc/group: "NAME",
 * "NUMBER", or either with ":GROUP". Without a user, it is root.
 * Source: OCI image specification, config.md. Errors: ERR_NOT_FOUND: no such user or group;
 * ERR_USAGE: a number that no box has.
 */
int order_image_user(
	const struct order_image *image, uint32_t *uid, uint32_t *gid, struct err *err);
