/* What the files of the loop share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/answer.h"
#include "agent/dialog.h"
#include "agent/loop.h"
#include "agent/stuck.h"

/*
 *             code                        record
 *   ASKING ─────────→ RUNNING ───────────────────→ ASKING
 *      │ text             │ final_answer()
 *      └────→ judged ←────┘    not grounded → ASKING
 *               │ --check
 *            CHECKING    it fails → ASKING
 *               ↓
 *             OVER
 */
enum loop_state { LOOP_ASKING, LOOP_RUNNING, LOOP_CHECKING, LOOP_OVER };

struct loop {
	uv_loop_t *uv;
	struct loop_config config;
	char *task, *runtime, *check;
	enum loop_state state;
	struct dialog dialog;
	struct budget budget;
	struct stuck stuck;
	struct grounding *grounding;
	uint64_t started_ms, context_tokens;
	uint64_t budget_before_ms, earlier_ms; /* used before it went on; of the budget, of all */
	uv_timer_t timer;		       /* of the wall limit; then of the last answer */

	struct buf next; /* what the model is told next, with images */
	json_t *images;

	struct wire_call *call;
	struct buf said;
	size_t n_told, line_at, n_looks; /* bytes; where the last line begins; marks */
	unsigned n_empty, n_overflows;

	char *code;		  /* of the step that runs */
	unsigned n_interrupts;	  /* of it */
	bool is_unwanted;	  /* the loop ends with it */
	bool no_images, has_seen; /* it reads none; it has read some */
	bool was_lost, is_untold; /* the step's end was not told the model yet */

	char *answer;
	json_t *bundle, *misses; /* of final_answer(), and its numbers; or NULL */
	bool was_sent_back, is_check_failed;

	bool is_last; /* all is used up: what comes is the last answer */
	enum budget_kind spent;
	struct err err;
	unsigned n_steps, n_replies;
	struct wire_usage usage;
	struct price price;
	double cost_usd;
	bool is_cost_partial; /* not every reply had a price */
	enum loop_end end;
	json_t *ended;	/* the result, until it is told */
	json_t *record; /* of the step that ran when it was kept; until it goes on */
};

void loop_tell(struct loop *l, json_t *event); /* takes the reference */
int loop_flush(struct loop *l);		       /* what is told next becomes a message */
void loop_note_time(struct loop *l);	       /* in the budget */
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

/* loop_reply.c: what is heard of the model. */
extern const struct wire_watch loop_watch;
void loop_hear_anew(struct loop *l); /* forget it */

/* loop_images.c: take the images out of all that it is told. Returns: how many, or -ENOMEM. */
int loop_blind(struct loop *l);
void loop_has_seen(struct loop *l); /* it answered: did it see any? */
/* Ask once more without images, when @why may be about those. Returns: whether it was asked. */
bool loop_ask_blind(struct loop *l, const struct failure *why);

/* loop_step.c */
void loop_run(struct loop *l, const char *runtime, const char *code, size_t bytes);

/* loop_answer.c: this may be the answer; @bundle and @code are those of the step, or NULL. */
void loop_judge(struct loop *l, const char *text, const json_t *bundle, const char *code);
void loop_check(struct loop *l);
/* The check gave this. */
void loop_checked(struct loop *l, const json_t *record);

/* loop_resume.c: have it kept as it is now. */
void loop_keep(struct loop *l);
