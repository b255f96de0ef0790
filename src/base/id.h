/* Random, unguessable names. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The characters of an id after its prefix: base32 in lower case, 5 bits each. */
#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyz234567"

/* Fill @out with random bytes from the kernel, for names and secrets. Aborts if the kernel has
 * no randomness, which happens only while the host boots. */
void id_random(void *out, size_t bytes);

/* Fill @out with @prefix, random ID_CHARACTERS and a NUL: @bytes in all. */
void id_make(char *out, size_t bytes, const char *prefix);

/* Return whether @text is @prefix followed by at least @min_random ID_CHARACTERS and nothing
 * else, and fits into @bytes with its NUL. */
bool id_is_like(const char *text, size_t bytes, const char *prefix, size_t min_random);
