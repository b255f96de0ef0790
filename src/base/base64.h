/* Base64, the alphabet of RFC 4648, with padding. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* How long the text is, without a NUL. */
size_t base64_bytes(size_t bytes);

/* Write base64_bytes(@bytes) bytes to @out, and no NUL. The library's is made for secrets: it
 * takes five times as long. */
void base64_encode(char *out, const void *data, size_t bytes);
