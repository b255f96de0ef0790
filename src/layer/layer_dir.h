/* Directories of the store of layers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "layer/layer_store.h"

#include <stdbool.h>

/* Open a directory, also if it is there by a link's name. Returns: fd or negative errno. */
int layer_open_dir(int at, const char *path);
/* Open the directory @name in the state directory; if it does not exist, make it, if @is_made.
 * Returns: fd or negative errno. */
int layer_open_place(const struct layer_store *s, const char *name, bool is_made);
/* The directory of the layers. */
int layer_open_layers(const struct layer_store *s, bool is_made);

/* Return whether @fd still is what @name names in the directory @dir. */
bool layer_is_named(int dir, const char *name, int fd);

/* Lock the open directory as flock(2) does, and wait for a few seconds at most: its owner may have
 * been stopped. Returns: 0; -EBUSY; or another negative errno. */
int layer_lock(int fd, int how);

/* Call @row for each name in the directory @dir that does not begin with '.', until it returns
 * true. Returns: 0, or negative errno: not all names have been read. */
int layer_each(int dir, bool (*row)(void *arg, int dir, const char *name), void *arg);
