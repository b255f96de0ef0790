/* Base64, the alphabet of RFC 4648, with padding. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Return the length of the encoded text, without a NUL. */
size_t base64_bytes(size_t bytes);

/* Encode @data: write base64_bytes(@bytes) characters to @out, without a NUL. libsodium's
 * encoder is not used: it is made for secrets, and takes five times as long. */
void base64_encode(char *out, const void *data, size_t bytes);

/*
 * Decode the @bytes characters of @text and append the result to @out. Padding is required. A
 * character outside the alphabet, such as a space, is refused.
 * Source: RFC 4648, section 4.
 * Errors: ERR_USAGE for malformed base64, ERR_LIMIT over the maximum of @out, ERR_NO_MEMORY.
 */
int base64_read(struct buf *out, const char *text, size_t bytes, struct err *err);

/* Append the base64 encoding of @data to @out. Returns: buf_error(). */
int base64_write(struct buf *out, const void *data, size_t bytes);
