/* What a run is followed by on stderr: hints, and what the network has refused.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/view.h"

/* If there is a hint for the step, write it to stderr. */
void view_hint(const struct view_options *options, const json_t *record);
/* Write what the network has refused to stderr, one line for each. */
void view_refusals(const struct view_options *options, const json_t *record);
