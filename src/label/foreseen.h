/*
 * Presumptions. A branch that did not run reveals information, too: after "if x: y = 1", for
 * example, an unchanged y reveals that x is false. A presumption is a label for what such a branch
 * might have written, if the run does not know whether the branch could have written it. The check
 * limits the presumptions of a run, see label_settle().
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "label/label.h"

/*
 * A presumption is a label for what a branch that did not run might have written. A label contains
 * its presumption as the member `presumed`, apart from the other members, because the presumption
 * may not apply.
 *
 * label_presumed(): return a label that contains nothing but a presumption, which is the label @id.
 * A value gets this label if a branch that did not run might have written the value.
 *
 * label_settle(): replace the presumption of @id, a label of a run, by what the check found. @check
 * is the label that the check found for the same value at the same call. The presumption is
 * removed. The part of it that @check contains, too, is joined to the rest of the label. For
 * example, if the presumption has the origins "tool:mail" and "tool:web", and @check has only
 * "tool:mail", then only "tool:mail" becomes an origin of the label. This is sound, because neither
 * the run nor the check misses a real flow. If @check is LABEL_FAILED, the check has no result for
 * this call. Then the whole presumption is joined to the rest of the label.
 *
 * Returns: LABEL_FAILED if memory is exhausted.
 */
uint32_t label_presumed(struct labels *all, uint32_t id);
uint32_t label_settle(struct labels *all, uint32_t id, uint32_t check);
/* Return whether @a is below or equal to @b, so that every rule that allows @b also allows @a.
 * Presumptions are not compared. */
bool label_is_below(const struct labels *all, uint32_t a, uint32_t b);
/* Return whether the label @run of a run is below or equal to the label @check of the check. The
 * check does not know the owners of items, so its origin "tool:mail#*" includes each origin
 * "tool:mail#ann" of a run. */
bool label_is_foreseen(const struct labels *all, uint32_t run, uint32_t check);
