/* Base64, the alphabet of RFC 4648, with padding. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Return the length of the encoded text, without a NUL. */
size_t base64_bytes(size_t bytes);

/* Encode @data: write base64_bytes(@bytes) bytes to @out, without a NUL. libsodium's function
 * takes five times as long, because it is made for secrets. */
void base64_encode(char *out, const void *data, size_t bytes);

/*
 * Decode @bytes of @text and append the result. Padding is required; other characters than the 64
 * letters are refused.
 * Source: RFC 4648, section 4.
 * Errors: ERR_USAGE for malformed base64, ERR_LIMIT over the maximum of @out, ERR_NO_MEMORY.
 */
int base64_read(struct buf *out, const char *text, size_t bytes, struct err *err);

/* Append @data encoded as base64. Returns: buf_error(). */
int base64_write(struct buf *out, const void *data, size_t bytes);
