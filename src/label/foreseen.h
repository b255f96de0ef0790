/* Presumptions: labels for branches that were not taken, and how a run and the check resolve
 * them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "label/label.h"

/*
 * label_presumed(): weaken @id to a presumption: a branch that was not taken might have written the
 * value.
 * label_settle(): resolve the presumption of @id against @check, the check's label for the same
 * value of the same call: keep what both allow. Each of the two over-approximates, so the
 * intersection is sound. @check is LABEL_FAILED when the check has no result: the presumption is
 * then enforced as a whole.
 * Returns: LABEL_FAILED without memory.
 */
uint32_t label_presumed(struct labels *all, uint32_t id);
uint32_t label_settle(struct labels *all, uint32_t id, uint32_t check);
/* For labels without presumption: is @a below @b, so that a rule that allows @b allows @a? */
bool label_is_below(const struct labels *all, uint32_t a, uint32_t b);
/* Is the label @run of a run below the label @check of the check? The check does not know the
 * owners of items: its "tool:mail#*" covers each "tool:mail#ann" of a run. */
bool label_is_foreseen(const struct labels *all, uint32_t run, uint32_t check);
