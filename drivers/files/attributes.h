/* Extended attributes of a file whose names begin with "user.". SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"

#include <jansson.h>

/* Read the attributes of @path, which is not followed: {"name without user.": text}. What goes
 * beyond a bound is left out: 64 attributes, 4 KiB for a value, 16 KiB for all. Returns: a new
 * object; NULL if there are no attributes. */
json_t *attributes_read(const char *path);

/* Set the attributes of @fd whose names begin with @prefix to exactly those in @given: name without
 * prefix, value, …, NULL. @path: for messages. */
int attributes_set(
	int fd, const char *prefix, char *const *given, const char *path, struct err *err);

/* Copy the attributes of one file to another, as far as possible. */
void attributes_copy(int from_fd, int to_fd);
