/* The state of a session after a step or an undo, in words for people and models.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

enum { OUTCOME_BYTES = 64 << 10 }; /* maximum that each of these functions appends */

/*
 * Each function appends to @b; without memory, less or nothing.
 *
 * lost: files that are not restored ("files_lost"), as the end of a sentence: ", but for a and 2
 * more"; where steps were run again, "; not put back: a". Nothing if all are restored.
 *
 * back: for the record of a step that was rolled back: what was restored, and what was not.
 *
 * anew: for the record of a step whose state is lost: how the session continues.
 *
 * taken_back: for the record of a failed step with "undone": what was undone.
 *
 * undone: for the answer to session.undo: where the state comes from, and how it differs from the
 * state then.
 *
 * again: for the answer to session.branch, or any that has "runs_again": the languages whose
 * variables have to be rebuilt. Returns: whether there are any.
 */
void outcome_add_lost(struct buf *b, const json_t *result);
void outcome_add_back(struct buf *b, const json_t *record);
void outcome_add_anew(struct buf *b, const json_t *record);
void outcome_add_taken_back(struct buf *b, const json_t *record);
void outcome_add_undone(struct buf *b, const json_t *result);
bool outcome_add_again(struct buf *b, const json_t *result);

/* Is the answer to session.undo an ordinary one, without lost files or steps to run again? */
bool outcome_is_plain_undo(const json_t *result);
