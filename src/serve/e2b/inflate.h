/* Bodies that are compressed with gzip, in pieces. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct e2b_inflate;

/* Begin. zlib is loaded when the first compressed body comes. Errors: ERR_NOT_FOUND with a hint,
 * zlib is missing; ERR_NO_MEMORY. */
int e2b_inflate_open(struct e2b_inflate **out, struct err *err);
void e2b_inflate_close(struct e2b_inflate *f);

/* Give it the next piece of the body, which must stay valid until e2b_inflate_some() returns 0. */
void e2b_inflate_put(struct e2b_inflate *f, const char *data, size_t bytes);
/*
 * Write up to @room bytes of what is in the piece, however much it becomes.
 * Returns: how many; 0: all of the piece is used. Errors: ERR_USAGE, it is not gzip.
 */
long e2b_inflate_some(struct e2b_inflate *f, char *out, size_t room, struct err *err);
/* Return whether the body is complete as it is. */
bool e2b_inflate_is_whole(const struct e2b_inflate *f);
