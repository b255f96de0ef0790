/* The frame that sends a step to its driver, and what the driver displays. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"

#include <jansson.h>
#include <stdint.h>

struct frame;
struct session;
struct session_driver;

/* Make the STEP frame with the number @id of the step of @s. Owns: the caller decrefs. Returns:
 * NULL and @err if the code or an argument is not UTF-8. */
json_t *step_frame_make(struct session *s, uint64_t id, struct err *err);

/* Add the step's stdin to the frame @step. Usually, the frame says that a descriptor comes with it.
 * If @runtime does not support that, the frame has the whole input as text. Errors: ERR_LIMIT,
 * ERR_USAGE. */
int step_frame_add_stdin(
	struct session *s, const struct runtime *runtime, json_t *step, struct err *err);

/* Take a DISPLAY of the running step. Returns: 0 or more. Errors: ERR_PROTOCOL. */
int step_frame_display(struct session_driver *p, const struct frame *frame, struct err *err);
