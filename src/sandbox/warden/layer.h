/* The files of a template with packages, merged into the root of a box. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"

/* The most places in which a layer adds something to the box's own directories: each needs a mount.
 */
enum { LAYER_PLACES_MAX = 128 };

/*
 * Merge the layer @tree_fd, a detached read-only mount, into the root of a box, which is the
 * current directory and has all its other mounts. The process must have all capabilities in its
 * mount and user namespace, and see the host's /proc. Errors: ERR_BOX: the kernel makes no overlay
 * here; ERR_LIMIT: LAYER_PLACES_MAX. Source: the kernel's filesystems/overlayfs.rst.
 */
int layer_merge(int tree_fd, struct err *err);
