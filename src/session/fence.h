/* Finds the code in a Markdown fence, as models write it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"
#include "session/step/step_order.h"

#include <jansson.h>
#include <stddef.h>

/*
 * The part of a step's code that is to run. @from is the first byte after the line that opens the
 * fence; @to is the first byte of the line that closes it.
 * All of the code is to run if there is no fence, if the code is a file, or if it is Python, whose
 * driver handles fences itself.
 *
 * Errors: ERR_USAGE for a fence of another runtime, a fence that is not closed, and text beside a
 * fence.
 */
struct fence {
	size_t from, to;
};

int fence_find(const struct step_order *order, const struct runtime *runtime, struct fence *out,
	struct err *err);

/* Return the code in the fence. Lines before it become blank, so that all lines keep their
 * numbers. Returns: NULL if memory is exhausted or the code is not UTF-8. */
json_t *fence_taken_off(const struct step_order *order, const struct fence *fence);
