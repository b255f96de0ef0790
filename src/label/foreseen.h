/* What a run and a check say of the same: both too much rather than too little.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"

/* At run time: @id as what a branch that is not taken may have written, and what of it remains when
 * @check is all that the check finds possible; LABEL_FAILED: all. Both say too much rather than too
 * little, so what both say is enough. Returns: LABEL_FAILED without memory. */
uint32_t label_presumed(struct labels *all, uint32_t id);
uint32_t label_settle(struct labels *all, uint32_t id, uint32_t check);
/* Of labels that are settled: is @a below @b, so that whatever allows @b allows @a? */
bool label_is_below(const struct labels *all, uint32_t a, uint32_t b);
/* Of a run and a check: the items of "tool:mail#ann" are among those of "tool:mail#*". */
bool label_is_foreseen(const struct labels *all, uint32_t run, uint32_t check);
