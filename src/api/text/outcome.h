/* What became of a session's state, in words for people and models. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

enum { OUTCOME_BYTES = 64 << 10 }; /* what any of these takes at most */

/*
 * Each appends to @b; without memory, less or nothing.
 *
 * lost     which of "files_lost" are not as before, to a text that says what is: ", but for a and 2
 *          more"; where steps were run again, "; not put back: a". Nothing when there are none.
 * back     of the record of a step that was rolled back: what is as before it, and what is not.
 * anew     of the record of a step whose outcome is lost: how the session goes on.
 * taken_back  of the record of a step that failed and has "undone": what that is.
 * undone   of the answer to session.undo: where its state comes from, and how far it is what it
 *          was.
 * again    of the answer to session.branch, or any that has "runs_again": whose variables are to be
 *          made again. Returns: whether there are any.
 */
void outcome_add_lost(struct buf *b, const json_t *result);
void outcome_add_back(struct buf *b, const json_t *record);
void outcome_add_anew(struct buf *b, const json_t *record);
void outcome_add_taken_back(struct buf *b, const json_t *record);
void outcome_add_undone(struct buf *b, const json_t *result);
bool outcome_add_again(struct buf *b, const json_t *result);

/* Is there more to say of an answer to session.undo than that it was done? */
bool outcome_is_plain_undo(const json_t *result);
