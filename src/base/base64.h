/* Base64, the alphabet of RFC 4648, with padding. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* The length of the encoded text, without a NUL. */
size_t base64_bytes(size_t bytes);

/* Write base64_bytes(@bytes) bytes to @out, and no NUL. Not libsodium's function, which is made
 * for secrets and takes five times as long. */
void base64_encode(char *out, const void *data, size_t bytes);

/*
 * Append what @text, @bytes of it, stands for. Padding is needed; nothing else but the 64 letters.
 * Source:  RFC 4648, section 4.
 * Errors:  ERR_USAGE when it is no base64, ERR_LIMIT over the maximum of @out, ERR_NO_MEMORY.
 */
int base64_read(struct buf *out, const char *text, size_t bytes, struct err *err);

/* Append @data as base64. Returns: buf_error(). */
int base64_write(struct buf *out, const void *data, size_t bytes);
