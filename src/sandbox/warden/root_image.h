/* The root of a box with an image. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/warden/root.h"

/*
 * Make the root from the layers of an image, in the current directory, which is an empty tmpfs.
 * Then make it the root of this process, unless it is that of a branch: then it becomes the current
 * directory. Set @root->store_fd. Owns: the caller closes it.
 * Errors: ERR_BOX: with a hint, if this kernel makes no such overlays; ERR_USAGE: a volume.
 */
int root_image_make(struct root *root, struct err *err);
