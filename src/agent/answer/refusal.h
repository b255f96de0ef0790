/* What the network of a box has refused, in words. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

enum { REFUSALS_SHOWN = 5 };

/*
 * For each row of the member "network" of @record that was refused or has failed, append a line
 * such as
 *
 *     net: api.example:443 refused: no rule names it: --net api.example
 *
 * @how: what stands before the rule that would allow it, such as "--net ".
 * At most REFUSALS_SHOWN lines are appended, and one that says how many are left out.
 * Returns: whether a line was appended.
 */
bool refusal_add(struct buf *out, const json_t *record, const char *how);
