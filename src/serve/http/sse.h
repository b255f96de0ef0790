/* Server-sent events: writing an event, and checking the request header Accept.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define SSE_TYPE "text/event-stream"

/*
 * Append an event with the name @name (may be NULL) and the data @data, which may have several
 * lines that end in "\n".
 * Source:  HTML Living Standard, 9.2.
 * Returns: 0, -E2BIG or -ENOMEM; on failure @out is unchanged.
 */
int sse_put(struct buf *out, const char *name, const char *data, size_t bytes);

/* Return whether the value @accept of the header Accept (NULL if missing) contains
 * text/event-stream. Source: RFC 9110, 12.5.1. */
bool sse_is_accepted(const char *accept);
