/* The states of the loop, and what takes it from one to the next. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/loop/loop.h"

struct loop;
struct round;

/*
 *             code                        record
 *   ASKING ─────────→ RUNNING ───────────────────→ ASKING
 *      │ text             │ final_answer()
 *      └────→ judged ←────┘    not grounded → ASKING
 *               │ --check
 *            CHECKING    it fails → ASKING
 *               ↓
 *             OVER
 *
 * With several candidates, TRYING (loop_round.c) is ASKING and RUNNING of all of them; then,
 * ADOPTING, the session becomes what it is in the branch of the best, and it goes on as if there
 * had been that one only.
 */
enum loop_state { LOOP_ASKING, LOOP_RUNNING, LOOP_CHECKING, LOOP_TRYING, LOOP_ADOPTING, LOOP_OVER };

/* Of a check. */
enum verdict { VERDICT_NONE, VERDICT_PASSED, VERDICT_FAILED };

/* Take the reference. What is of a candidate is told as such. */
void loop_tell(struct loop *l, json_t *event);
void loop_tell_of(struct loop *l, unsigned place, json_t *event);
int loop_flush(struct loop *l);	     /* what is told next becomes a message */
void loop_note_time(struct loop *l); /* in the budget */
uint64_t loop_wall_ms(const struct loop *l);
/* Ask the model, telling it what is in `next`. May end the loop. */
void loop_ask(struct loop *l);
/* End it. Nothing may be done with @l afterwards. */
void loop_finish(struct loop *l, enum loop_end end);
/* All is used up, and there is no last answer. */
void loop_give_up(struct loop *l);
/* It ended because of @err. */
void loop_fail(struct loop *l, const struct err *err);
void loop_starve(struct loop *l);	 /* for a want of memory */
void loop_count_failure(struct loop *l); /* a step is gone, and was no good */

/* loop_step.c */
void loop_run(struct loop *l, const char *runtime, const char *code, size_t bytes);
void loop_tell_code(struct loop *l, unsigned place, unsigned number, const struct loop_code *code);
/* The step `number` with `code` gave this. */
void loop_stepped(struct loop *l, const json_t *record);

/* loop_answer.c: this may be the answer; @bundle and @code are those of the step, or NULL. */
void loop_judge(struct loop *l, const char *text, const json_t *bundle, const char *code);
void loop_check(struct loop *l);
/* The check gave this. */
void loop_checked(struct loop *l, const json_t *record);

/* loop_resume.c: have it kept as it is now. */
void loop_keep(struct loop *l);

/* loop_images.c: take the images out of all that it is told. Returns: how many, or -ENOMEM. */
int loop_blind(struct loop *l);
void loop_has_seen(struct loop *l); /* it answered: did it see any? */
/* Ask once more without images, when @why may be about those. Returns: whether it was asked. */
bool loop_ask_blind(struct loop *l, const struct failure *why);

/* loop_round.c, loop_candidate.c: several candidates. */
int loop_round_ask(struct loop *l, const struct wire_request *q, unsigned n, struct err *err);
void loop_round_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err);
/* Is nothing done yet but asking? */
bool loop_round_is_asking(const struct loop *l);
/* What runs is stopped, what is asked is given up; it is concluded with what there is. */
void loop_round_stop(struct loop *l);
void loop_round_cancel(struct loop *l); /* nothing is heard of a model any more */
void loop_round_free(struct round *r);	/* NULL is nothing */
/* What the result says of them, or NULL. */
json_t *loop_round_result(const struct loop *l);
