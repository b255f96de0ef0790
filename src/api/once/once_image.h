/* Images, for commands that start no engine. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

/*
 * Read the record of the image @name in the store below the state directory @dir, which may be
 * NULL: {"name", "digest", "layers", "config", …}, see image/image_store.h. Owns: the caller
 * decrefs. Returns: NULL and @err. Errors: those of image_store_get().
 */
json_t *once_image(const char *dir, const char *name, struct err *err);
