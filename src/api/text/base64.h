/* Bytes as text, for what is no UTF-8. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/*
 * Append what @text, @bytes of it, stands for. Padding is needed; nothing else but the 64 letters.
 * Source:  RFC 4648, section 4.
 * Errors:  ERR_USAGE when it is no base64, ERR_LIMIT over the maximum of @out, ERR_NO_MEMORY.
 */
int base64_read(struct buf *out, const char *text, size_t bytes, struct err *err);

/* Append @data as base64. Returns: 0, -E2BIG, -ENOMEM. */
int base64_write(struct buf *out, const void *data, size_t bytes);
