/* A loop on paper: what is kept of it so that another process can go on with it. No system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

struct loop;

/* More images than that are left out, the oldest first; how many bytes of base64. */
enum { LOOP_STATE_VERSION = 1, LOOP_STATE_IMAGE_BYTES = 16 << 20 };

/*
 * Shape:   {"version", "state", "dialog": [{"kind", "text", "cut"?, "images"?}], "used": {…}, …}.
 *          Neither keys nor the wire are in it.
 * Owns:    the caller; NULL without memory.
 */
json_t *loop_state(struct loop *l);

/*
 * Have a loop that was only just made be as @state says.
 * Errors:  ERR_DAMAGED: it is no such state; ERR_USAGE: it was made by a newer version;
 *          ERR_NO_MEMORY.
 */
int loop_restore(struct loop *l, const json_t *state, struct err *err);
