/* The saved state of a loop, from which another process can resume it. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

struct loop;

/* IMAGE_BYTES: base64 of all images together; beyond it the oldest are left out. */
enum { LOOP_STATE_VERSION = 1, LOOP_STATE_IMAGE_BYTES = 16 << 20 };

/*
 * Shape:   {"version", "state", "dialog": [{"kind", "text", "cut"?, "images"?}], "used": {…}, …}.
 *          Neither keys nor the wire are in it.
 * Owns:    the caller; NULL without memory.
 */
json_t *loop_state(struct loop *l);

/* Set a new loop to the saved state. Errors: ERR_DAMAGED: malformed; ERR_USAGE: saved by a newer
 * version; ERR_NO_MEMORY. */
int loop_restore(struct loop *l, const json_t *state, struct err *err);
