/* The saved state of a loop, from which another process can resume it. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

struct loop;

/* LOOP_STATE_IMAGE_BYTES: maximum of all images together, in base64; the oldest images beyond it
 * are left out. */
enum { LOOP_STATE_VERSION = 1, LOOP_STATE_IMAGE_BYTES = 16 << 20 };

/*
 * Shape:   {"version", "state", "dialog": [{"kind", "text", "cut"?, "images"?}], "used": {…}, …}.
 *          The state contains neither keys nor the wire.
 * Owns:    the caller; NULL without memory.
 */
json_t *loop_state(struct loop *l);

/* Set a new loop to the saved state. Errors: ERR_DAMAGED: malformed; ERR_USAGE: a newer version
 * saved it; ERR_NO_MEMORY. */
int loop_restore(struct loop *l, const json_t *state, struct err *err);
