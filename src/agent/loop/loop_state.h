/* The saved state of a loop, from which another process can resume it. Makes no system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>

struct loop;

/* LOOP_STATE_IMAGE_BYTES: maximum total size of the images in a saved state, in base64. See
 * dialog_json() for what is left out. */
enum { LOOP_STATE_VERSION = 1, LOOP_STATE_IMAGE_BYTES = 16 << 20 };

/*
 * Return the state of the loop. It has neither the key nor the address of the model.
 * Shape:   {"version", "state", "dialog", "next", "budget": {LIMIT: {"limit", "used",
 * "is_warned"}}, …}; "dialog" is the result of dialog_json().
 * Owns:    the caller; NULL if memory is exhausted.
 */
json_t *loop_state(struct loop *l);

/* Give the new loop @l the saved state @state. Errors: ERR_DAMAGED if it is malformed; ERR_USAGE if
 * a newer version saved it; ERR_NO_MEMORY. */
int loop_restore(struct loop *l, const json_t *state, struct err *err);
