/*
 * Files that are on their way into the store, in downloads/ of the state directory: the parts of
 * layers that a registry has sent, by their digests, and copies without a name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "layer/layer_store.h"

#include <stdbool.h>
#include <stdint.h>

/* Open the part of the layer @digest, which may be empty, and lock it until it is closed. Returns:
 * fd; -EWOULDBLOCK: another engine has the lock; or another negative errno. */
int part_open(const struct layer_store *s, const char *digest);
/* Return the size of that part, which another engine writes; 0 if it is not there. */
uint64_t part_size(const struct layer_store *s, const char *digest);
void part_remove(const struct layer_store *s, const char *digest);

/* Make a file that goes when it is closed. Returns: fd or negative errno. */
int part_open_unnamed(const struct layer_store *s);

/* Return whether only this user can write the open file. Others could change what has been checked
 * before it is used. */
bool part_is_ours(int fd);

/* Check that @bytes more fit there. Errors: ERR_NO_SPACE. */
int part_check_room(int fd, uint64_t bytes, struct err *err);
/* Add to an error that there was no room: how to make some. */
void part_hint_room(struct err *err);
/* Set @err: writing there has failed. @sys: errno. Returns: negative. */
int part_fail(const struct layer_store *s, int sys, struct err *err);
