/* Code in a Markdown fence, as it comes from models. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"
#include "session/step/step_order.h"

#include <jansson.h>
#include <stddef.h>

/*
 * The part of a step's code that is run: @from is the byte behind the line that opens the fence,
 * @to is where the line that closes it begins. It is the whole code if there is no fence, if the
 * step is a file, and if the runtime itself understands fences.
 *
 * Errors: ERR_USAGE for a fence of another runtime, one that is not closed, and text beside one.
 */
struct fence {
	size_t from, to;
};

int fence_find(const struct step_order *order, const struct runtime *runtime, struct fence *out,
	struct err *err);

/* The code without its fence; its lines keep their numbers. NULL: no memory, or not UTF-8. */
json_t *fence_taken_off(const struct step_order *order, const struct fence *fence);
