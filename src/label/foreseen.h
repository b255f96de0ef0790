/*
 * Presumptions. A presumption is a label for what a branch that did not run might have written. The
 * check limits the presumptions of a run, see label_settle().
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "label/label.h"

/*
 * A presumption is a label for what a branch that did not run might have written. It is kept in the
 * member `presumed`, apart from the other members of a label.
 * label_presumed(): return a label whose only content is a presumption: the label @id. A value gets
 * this label if a branch that did not run might have written the value.
 * label_settle(): return the label @id of a run, but without its presumption. Instead, join to the
 * label the part of the presumption that is possible according to @check. @check is the label that
 * the check found for the same value at the same call. For example, if the origins of the
 * presumption are "tool:mail" and "tool:web", and those of @check are only "tool:mail", then only
 * "tool:mail" is added to the origins of the label. This is sound, because the run and the check
 * both over-approximate the real flow. If @check is LABEL_FAILED, the check has no result for this
 * call, and the whole presumption is joined to the label.
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
