/* Names that nobody can guess. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The characters of ids behind their prefix: base32 in lower case, 5 bits each. */
#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyz234567"

/*
 * Fill @out with random bytes of the kernel, for names and for secrets. Does not return when the
 * kernel has none, which it always has once the host is up.
 */
void id_random(void *out, size_t bytes);

/* Write @prefix, and random characters until @out has @bytes with its NUL. */
void id_make(char *out, size_t bytes, const char *prefix);

/* Is @text @prefix and at least @min_random characters of an id, and not longer than fits into
 * @bytes? */
bool id_is_like(const char *text, size_t bytes, const char *prefix, size_t min_random);
