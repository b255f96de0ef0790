/* Server-sent events: the writer, and the check of the header Accept. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define SSE_TYPE "text/event-stream"

/*
 * Append an event with @name (may be NULL) and @data, whose lines may end in "\n".
 * Source:  HTML Living Standard, 9.2.
 * Returns: 0, -E2BIG, -ENOMEM; @out is then unchanged.
 */
int sse_put(struct buf *out, const char *name, const char *data, size_t bytes);

/* Does "Accept: @accept" (may be NULL) name text/event-stream? Source: RFC 9110, 12.5.1. */
bool sse_is_accepted(const char *accept);
