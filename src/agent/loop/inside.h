/*
 * Declarations shared by the files of the loop.
 *
 *             code                        record
 *   ASKING ─────────→ RUNNING ───────────────────→ ASKING
 *      │ text             │ final_answer()
 *      └────→ judged ←────┘    not grounded → ASKING
 *               │ --check
 *            CHECKING    it fails → ASKING
 *               ↓
 *             OVER
 *
 * With several candidates for each step (best of N), TRYING stands for ASKING and RUNNING of all of
 * them, each in a branch of the session (loop_round.c). Then, in ADOPTING, the session takes the
 * state of the best candidate's branch, and the loop continues as if that had been the only one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/answer/answer.h"
#include "agent/answer/criterion.h"
#include "agent/loop/dialog.h"
#include "agent/loop/loop.h"
#include "agent/loop/stuck.h"
#include "agent/wire/wire.h"

struct round;

enum loop_state { LOOP_ASKING, LOOP_RUNNING, LOOP_CHECKING, LOOP_TRYING, LOOP_ADOPTING, LOOP_OVER };

/* The outcome of a check. */
enum verdict { VERDICT_NONE, VERDICT_PASSED, VERDICT_FAILED };

/* A request to the model, and the part of its reply that has arrived. */
struct reply_stream {
	struct loop *loop;
	unsigned place; /* the candidate's place; 0: the step has only one candidate */
	struct wire_call *call;
	struct buf text;
	size_t n_told;	      /* length of the text that events have reported */
	size_t n_looks;	      /* how often the text was parsed for a complete block */
	size_t line_at, seen; /* start of the last line; end of the text that was examined */
	bool has_tag;	      /* the last line contains "</" */
};

/* A complete reply. Borrowed. */
struct whole_reply {
	const char *text;
	enum reply_stop stop;
	bool is_cut;   /* the reply was cut at LOOP_REPLY_BYTES */
	bool is_other; /* the reply calls a tool that does not exist */
};

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
	uint64_t budget_before_ms, earlier_ms; /* time before the resume: in the budget, in all */
	uv_timer_t timer; /* timer of the wall limit; then of the last answer; then of `done` */

	struct buf next; /* text and images of the next message to the model */
	json_t *images;

	struct reply_stream stream;
	unsigned n_empty, n_overflows;

	struct round *round; /* the candidates of the current step, or NULL */
	unsigned best_of;
	enum verdict verdict; /* result of the check if a candidate's answer was already checked */
	json_t *checked;      /* record of that check, or NULL */
	json_t *rounds;	      /* one entry per round, for the loop's result */
	json_t *refusal;

	char *code;		  /* code of the running step */
	unsigned number;	  /* number of the running step */
	unsigned n_interrupts;	  /* interrupts of the running step */
	bool is_unwanted;	  /* the loop ends after the running step */
	bool no_images, has_seen; /* the model cannot read any; it has read some */
	bool was_lost, is_untold; /* was_lost: the state was rebuilt and may differ; is_untold: the
				     model has not seen the result of the last step */

	char *answer;
	json_t *bundle, *misses; /* argument of final_answer(); its ungrounded numbers; or NULL */
	bool was_sent_back, is_check_failed;

	bool is_last; /* a limit is reached: the next reply is the last answer */
	enum budget_kind spent;
	struct err err;
	unsigned n_steps, n_replies;
	unsigned last_number; /* number of the last step, a candidate's step included */
	struct wire_usage usage;
	struct price price;
	double cost_usd;
	bool is_cost_partial; /* the price of some tokens is unknown */
	enum loop_end end;
	json_t *ended;	/* the loop's result, until `done` receives it */
	json_t *record; /* record of the step that was running when the state was saved; until the
			   loop continues */
};

/* ---- loop.c ---- */

/* Send an event, and take its reference. loop_tell_of(): mark the event as one of the candidate at
 * @place. */
void loop_tell(struct loop *l, json_t *event);
void loop_tell_of(struct loop *l, unsigned place, json_t *event);
int loop_flush(struct loop *l);	     /* append `next` and `images` to the dialog as a message */
void loop_note_time(struct loop *l); /* add the elapsed time to the budget */
uint64_t loop_wall_ms(const struct loop *l);
/* Send `next` to the model. May end the loop. */
void loop_ask(struct loop *l);
/* End the loop. The caller must not use @l afterwards. */
void loop_finish(struct loop *l, enum loop_end end);
/* End the loop: a limit is reached, and the last reply is not an answer. */
void loop_give_up(struct loop *l);
/* End the loop because of @err. */
void loop_fail(struct loop *l, const struct err *err);
void loop_fail_memory(struct loop *l);
void loop_count_failure(struct loop *l); /* count a failed step in the budget */

/* ---- loop_reply.c ---- */

extern const struct wire_watch loop_watch; /* callbacks; `arg` is a struct reply_stream */
void reply_stream_reset(struct reply_stream *s);
void reply_stream_flush(struct reply_stream *s); /* report the unreported text */
void loop_count_usage(struct loop *l, const struct reply *reply);
void loop_tell_message(struct loop *l, unsigned place, const struct whole_reply *reply,
	const struct wire_usage *usage);
/* Run the code of a reply, or judge its text as an answer. */
void loop_act(struct loop *l, const struct whole_reply *reply);
/* Handle a request without a reply: ask again in another way, or end the loop. */
void loop_miss(struct loop *l, const struct failure *why);

/* ---- loop_step.c ---- */

void loop_run(struct loop *l, const char *runtime, const char *code, size_t bytes);
void loop_tell_code(struct loop *l, unsigned place, unsigned number, const struct loop_code *code);
/* Continue after the running step, whose record is @record. */
void loop_stepped(struct loop *l, const json_t *record);

/* ---- loop_answer.c ---- */

/* Decide whether the loop accepts @text as its answer. @bundle and @code belong to the step that
 * called final_answer(), or are NULL. */
void loop_judge(struct loop *l, const char *text, const json_t *bundle, const char *code);
void loop_check(struct loop *l);
/* Continue after the check, whose record is @record. */
void loop_checked(struct loop *l, const json_t *record);

/* ---- loop_resume.c ---- */

void loop_save(struct loop *l);
/* Do the work of loop_open() for a config with a past; loop_open() lists the errors. */
int loop_resume(struct loop *l, const struct loop_past *past, const char *task, struct err *err);
/* When the event loop runs, do the next action: ask the model, or use the record of the past. */
void loop_continue(struct loop *l);

/* ---- loop_images.c ---- */

/* Remove all images from the dialog. Returns: how many, or -ENOMEM. */
int loop_drop_images(struct loop *l);
/* Note after a reply whether the model was sent images. */
void loop_note_images(struct loop *l);
/* Ask again without images if @why may be about images. Returns: whether the model was asked. */
bool loop_ask_without_images(struct loop *l, const struct failure *why);

/* ---- loop_round.c, loop_candidate.c: several candidates ---- */

int loop_round_ask(struct loop *l, const struct wire_request *q, unsigned n, struct err *err);
void loop_round_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err);
/* Are all candidates still waiting for the model? */
bool loop_round_is_asking(const struct loop *l);
/* Stop all running code, cancel all requests, and conclude the round with the candidates that are
 * complete. */
void loop_round_stop(struct loop *l);
void loop_round_cancel(struct loop *l); /* cancel the requests to the model */
void loop_round_free(struct round *r);	/* @r may be NULL */
/* Return the member "candidates" of the result, or NULL. */
json_t *loop_round_result(const struct loop *l);
