/* Names that nobody can guess. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The characters of ids behind their prefix: base32 in lower case, 5 bits each. */
#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyz234567"

/*
 * Fill @out with random bytes from the kernel, for names and for secrets. Aborts when the kernel
 * cannot give any, which happens only while the host starts.
 */
void id_random(void *out, size_t bytes);

/* Write @prefix and random characters, @bytes in all with the NUL. */
void id_make(char *out, size_t bytes, const char *prefix);

/* Does @text consist of @prefix and at least @min_random characters of an id, and fit into
 * @bytes? */
bool id_is_like(const char *text, size_t bytes, const char *prefix, size_t min_random);
