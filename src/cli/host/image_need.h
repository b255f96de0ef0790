/* The image of a command, which is pulled if it is missing. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define IMAGE_PULL_CHOICES "missing|always|never"

/*
 * Find the image @name among those of the user, and pull it before, by `retort image pull`, if
 * @policy says so: one of IMAGE_PULL_CHOICES, or NULL for "missing". @is_quiet: without progress.
 * *@about: as once_image(). Owns: the caller decrefs. Returns: 0; the exit status of a pull that
 * failed, after it has said why on stderr; or negative errno. Errors: those of once_image();
 * ERR_USAGE: no such policy.
 */
int image_need(
	const char *name, const char *policy, bool is_quiet, json_t **about, struct err *err);
