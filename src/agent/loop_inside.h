/* What the files of the loop share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/answer.h"
#include "agent/criterion.h"
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
 *
 * With several candidates, TRYING (loop_round.c) is ASKING and RUNNING of all of them; then,
 * ADOPTING, the session becomes what it is in the branch of the best, and it goes on as if there
 * had been that one only.
 */
enum loop_state { LOOP_ASKING, LOOP_RUNNING, LOOP_CHECKING, LOOP_TRYING, LOOP_ADOPTING, LOOP_OVER };

/* Of a check. */
enum verdict { VERDICT_NONE, VERDICT_PASSED, VERDICT_FAILED };

/* One question, and what is heard of its answer. */
struct hearing {
	struct loop *loop;
	unsigned place; /* of the candidate; 0: there is one only */
	struct wire_call *call;
	struct buf said;
	size_t n_told, line_at, n_looks; /* bytes; where the last line begins; marks */
};

/* A reply that is whole. Borrowed. */
struct said {
	const char *text;
	enum reply_stop stop;
	bool is_cut; /* it was longer than is waited for */
};

struct round;

struct loop {
	uv_loop_t *uv;
	struct loop_config config;
	char *task, *runtime;
	struct criterion check;
	enum loop_state state;
	struct dialog dialog;
	struct budget budget;
	struct stuck stuck;
	struct grounding *grounding;
	uint64_t started_ms, context_tokens;
	uv_timer_t timer; /* of the wall limit; then of the last answer */

	struct buf next; /* what the model is told next, with images */
	json_t *images;

	struct hearing heard;
	unsigned n_empty, n_overflows;

	struct round *round; /* of candidates, or NULL */
	unsigned best_of;
	enum verdict verdict; /* that is known of the answer already, and what gave it, or NULL */
	json_t *checked;
	json_t *rounds; /* what the result tells of them */
	json_t *refusal;

	char *code;	       /* of the step that runs */
	unsigned number;       /* of that step */
	unsigned n_interrupts; /* of it */
	bool is_unwanted;      /* the loop ends with it */
	bool was_lost;

	char *answer;
	json_t *bundle, *misses; /* of final_answer(), and its numbers; or NULL */
	bool was_sent_back, is_check_failed;

	bool is_last; /* all is used up: what comes is the last answer */
	enum budget_kind spent;
	struct err err;
	unsigned n_steps, n_replies;
	struct wire_usage usage;
	json_t *ended; /* the result, until it is told */
};

/* Take the reference. What is of a candidate is told as such. */
void loop_tell(struct loop *l, json_t *event);
void loop_tell_of(struct loop *l, unsigned place, json_t *event);
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
extern const struct wire_watch loop_watch; /* its `arg` is a struct hearing */
void loop_hear_anew(struct hearing *h);	   /* forget it */
void loop_hear_rest(struct hearing *h);	   /* tell what was not told yet */
void loop_count_usage(struct loop *l, const struct reply *reply);
void loop_tell_message(
	struct loop *l, unsigned place, const struct said *said, const struct wire_usage *usage);
/* Act upon a reply; upon there being none. */
void loop_act(struct loop *l, const struct said *said);
void loop_miss(struct loop *l, const struct failure *why);

/* loop_step.c */
void loop_run(struct loop *l, const char *runtime, const char *code, size_t bytes);
void loop_tell_code(struct loop *l, unsigned place, unsigned number, const struct loop_code *code);
/* The step `number` with `code` gave this. */
void loop_stepped(struct loop *l, const json_t *record);

/* loop_answer.c: this may be the answer; @bundle and @code are those of the step, or NULL. */
void loop_judge(struct loop *l, const char *text, const json_t *bundle, const char *code);
/* The check gave this. */
void loop_checked(struct loop *l, const json_t *record);

/* loop_round.c: several candidates. */
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
