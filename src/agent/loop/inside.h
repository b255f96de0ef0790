/*
 * What the files of the loop share.
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

/* Of a check. */
enum verdict { VERDICT_NONE, VERDICT_PASSED, VERDICT_FAILED };

/* A question to the model, and its reply as far as it has come. */
struct reply_stream {
	struct loop *loop;
	unsigned place; /* of the candidate; 0: there is only one */
	struct wire_call *call;
	struct buf text;
	size_t n_told;	      /* bytes of the text that events have told */
	size_t n_looks;	      /* how often it was parsed for a whole block */
	size_t line_at, seen; /* where the last line begins, and the end of what was looked at */
	bool has_tag;	      /* "</" is in the last line */
};

/* A whole reply. Borrowed. */
struct whole_reply {
	const char *text;
	enum reply_stop stop;
	bool is_cut;   /* at LOOP_REPLY_BYTES */
	bool is_other; /* it calls a tool that does not exist */
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
	uint64_t budget_before_ms, earlier_ms; /* used before it resumed: of the budget, of all */
	uv_timer_t timer;		       /* of the wall limit; then of the last answer */

	struct buf next; /* the text of the next message to the model, and its images */
	json_t *images;

	struct reply_stream stream;
	unsigned n_empty, n_overflows;

	struct round *round; /* of candidates, or NULL */
	unsigned best_of;
	enum verdict verdict; /* of the answer, if a candidate was checked already */
	json_t *checked;      /* the record of that check, or NULL */
	json_t *rounds;	      /* for the result: one entry for each round */
	json_t *refusal;

	char *code;		  /* of the step that runs */
	unsigned number;	  /* of that step */
	unsigned n_interrupts;	  /* of that step */
	bool is_unwanted;	  /* the loop ends with that step */
	bool no_images, has_seen; /* the model reads none; it has read some */
	bool was_lost, is_untold; /* the model does not know yet how the step ended */

	char *answer;
	json_t *bundle, *misses; /* of final_answer(), and its ungrounded numbers; or NULL */
	bool was_sent_back, is_check_failed;

	bool is_last; /* a limit is reached: the next reply is the last answer */
	enum budget_kind spent;
	struct err err;
	unsigned n_steps, n_replies;
	unsigned last_number; /* of the last step, also of a candidate's */
	struct wire_usage usage;
	struct price price;
	double cost_usd;
	bool is_cost_partial; /* some of the tokens had no price */
	enum loop_end end;
	json_t *ended;	/* the result, until `done` has it */
	json_t *record; /* of the step that ran when the state was saved; until the loop continues
			 */
};

/* ---- loop.c ---- */

/* Send an event; takes the reference. The second: as one of the candidate at @place. */
void loop_tell(struct loop *l, json_t *event);
void loop_tell_of(struct loop *l, unsigned place, json_t *event);
int loop_flush(struct loop *l);	     /* add `next` and `images` to the dialog as a message */
void loop_note_time(struct loop *l); /* in the budget */
uint64_t loop_wall_ms(const struct loop *l);
/* Send `next` to the model. May end the loop. */
void loop_ask(struct loop *l);
/* End the loop. The caller does nothing with @l afterwards. */
void loop_finish(struct loop *l, enum loop_end end);
/* End it: a limit is reached, and the last reply is not an answer. */
void loop_give_up(struct loop *l);
/* End it because of @err. */
void loop_fail(struct loop *l, const struct err *err);
void loop_fail_memory(struct loop *l);
void loop_count_failure(struct loop *l); /* of a step, in the budget */

/* ---- loop_reply.c ---- */

extern const struct wire_watch loop_watch; /* its `arg` is a struct reply_stream */
void reply_stream_reset(struct reply_stream *s);
void reply_stream_flush(struct reply_stream *s); /* tell what no event has told yet */
void loop_count_usage(struct loop *l, const struct reply *reply);
void loop_tell_message(struct loop *l, unsigned place, const struct whole_reply *reply,
	const struct wire_usage *usage);
/* Run the code of a reply, or judge its answer. */
void loop_act(struct loop *l, const struct whole_reply *reply);
/* There is no reply: ask once more in another way, or end. */
void loop_miss(struct loop *l, const struct failure *why);

/* ---- loop_step.c ---- */

void loop_run(struct loop *l, const char *runtime, const char *code, size_t bytes);
void loop_tell_code(struct loop *l, unsigned place, unsigned number, const struct loop_code *code);
/* The step `number`, with `code`, has this record. */
void loop_stepped(struct loop *l, const json_t *record);

/* ---- loop_answer.c ---- */

/* Is @text the answer? @bundle and @code are those of the step that gave it, or NULL. */
void loop_judge(struct loop *l, const char *text, const json_t *bundle, const char *code);
void loop_check(struct loop *l);
/* The check has this record. */
void loop_checked(struct loop *l, const json_t *record);

/* ---- loop_resume.c ---- */

void loop_save(struct loop *l);
/* loop_open() with a past; for the errors see there. */
int loop_resume(struct loop *l, const struct loop_past *past, const char *task, struct err *err);
/* When the event loop runs, do what is next: ask, or use the record that the past had. */
void loop_continue(struct loop *l);

/* ---- loop_images.c ---- */

/* Take all images out of the dialog. Returns: how many, or -ENOMEM. */
int loop_drop_images(struct loop *l);
/* The model has answered: note whether it was shown images. */
void loop_note_images(struct loop *l);
/* Ask again without images, if @why may be about them. Returns: whether it was asked. */
bool loop_ask_without_images(struct loop *l, const struct failure *why);

/* ---- loop_round.c, loop_candidate.c: several candidates ---- */

int loop_round_ask(struct loop *l, const struct wire_request *q, unsigned n, struct err *err);
void loop_round_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err);
/* Are all candidates still waiting for the model? */
bool loop_round_is_asking(const struct loop *l);
/* Stop all code, cancel all questions, and conclude the round with what there is. */
void loop_round_stop(struct loop *l);
void loop_round_cancel(struct loop *l); /* cancel the questions to the model */
void loop_round_free(struct round *r);	/* NULL is nothing */
/* The member "candidates" of the result, or NULL. */
json_t *loop_round_result(const struct loop *l);
