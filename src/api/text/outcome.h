/* Say what has become of a session's state after a step or an undo, for people and models.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

enum { OUTCOME_BYTES = 64 << 10 }; /* maximum number of bytes that each function appends */

/*
 * Each function appends a text to @b. If memory is exhausted, it appends less or nothing. @record
 * is the record of a step; @result is the answer of an operation.
 *
 * outcome_add_lost() names the files in "files_lost", which were not restored. Its text continues a
 * sentence: ", but for a, b, c and 2 more". If the state was rebuilt by running steps again, the
 * text is "; not put back: a, b, c and 2 more". If no file is lost, nothing is appended.
 *
 * outcome_add_back() is for a step that was rolled back. It says what was restored and what was
 * not: "variables and files are as before this step, but for a".
 *
 * outcome_add_anew() is for a step after which the state is lost. It says how the session
 * continues: "the session begins anew".
 *
 * outcome_add_taken_back() is for a failed step of which something was undone (state.undone). It
 * says what was undone: "what the step wrote".
 *
 * outcome_add_undone() is for the answer to session.undo. It says how the state was restored, and
 * how the state differs from the earlier state.
 *
 * outcome_add_again() is for the answer to session.branch or session.undo. It names the languages
 * in "runs_again", whose variables must be rebuilt by running steps again. Returns: false if there
 * are no such languages; nothing is then appended.
 *
 * outcome_add_branched() is for the answer to session.branch. It says what outcome_add_again()
 * says, and how many processes are not in the branch. Returns: false if there is neither; nothing
 * is then appended.
 */
void outcome_add_lost(struct buf *b, const json_t *result);
void outcome_add_back(struct buf *b, const json_t *record);
void outcome_add_anew(struct buf *b, const json_t *record);
void outcome_add_taken_back(struct buf *b, const json_t *record);
void outcome_add_undone(struct buf *b, const json_t *result);
bool outcome_add_again(struct buf *b, const json_t *result);
bool outcome_add_branched(struct buf *b, const json_t *result);

/* Return whether an undo restored everything: no files are lost, and no steps must run again. */
bool outcome_is_plain_undo(const json_t *result);
