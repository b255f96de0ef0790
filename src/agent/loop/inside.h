/*
 * Declarations shared by the files of the loop.
 *
 * With one candidate for each step, the loop is always in one of these states:
 * - ASKING: the loop waits for a reply of the model.
 * - RUNNING: the session runs the code of the reply.
 * - CHECKING: the session runs the user's check of an answer (--check).
 * - OVER: the loop has ended.
 *
 * In the picture, an arrow leads from each state to the next; the word at the arrow says what
 * causes the change. An answer is a text without code, or the argument of final_answer(). The
 * function loop_judge() judges each answer, and so selects the next state:
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
 * With several candidates for each step (best of N), the state TRYING replaces ASKING and RUNNING:
 * the model is asked for all candidates, and each is run in a branch of the session (loop_round.c).
 * Then, in ADOPTING, the session takes over the state of the best candidate's branch, and the loop
 * continues as if this candidate had been the only one.
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

/* The result of the user's check. VERDICT_NONE means that the check was not run. */
enum verdict { VERDICT_NONE, VERDICT_PASSED, VERDICT_FAILED };

/* A request to the model, and the part of its reply that has arrived. */
struct reply_stream {
	struct loop *loop;
	unsigned place; /* number of the candidate, from 1; 0 if the step has only one */
	struct wire_call *call;
	struct buf text;
	size_t n_told;	/* length of the text that model.delta events have reported */
	size_t n_looks; /* how often extract_is_whole() was called for this reply */
	/*
	 * line_at: offset of the last line of `text`.
	 * seen: offset in `text` up to which is_enough() has searched for the end of a block.
	 */
	size_t line_at, seen;
	bool has_tag; /* the last line contains "</" */
};

/* A complete reply. The text is borrowed. */
struct whole_reply {
	const char *text;
	enum reply_stop stop;
	bool is_cut;   /* the reply was stopped at LOOP_REPLY_BYTES */
	bool is_other; /* the reply calls a tool, but not one that runs code */
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
	/*
	 * Both times are about a resumed loop. In a new loop, they are 0.
	 * earlier_ms: how long the loop had run before it was resumed.
	 * budget_before_ms: the part of earlier_ms that counts towards the time limit. If the
	 * time limit was renewed, the time before the renewal does not count.
	 */
	uint64_t budget_before_ms, earlier_ms;
	/* The timer waits for the time limit, then for LOOP_LAST_MS. When the loop has ended,
	 * the timer calls `done`. */
	uv_timer_t timer;

	/* `next` is the text of the next message to the model; `images` are the images of this
	 * message. */
	struct buf next;
	json_t *images;

	struct reply_stream stream;
	unsigned n_empty, n_overflows;

	struct round *round; /* the candidates of the current step, or NULL */
	unsigned best_of;
	enum verdict verdict; /* result of the check of the chosen candidate */
	json_t *checked;      /* record of the check of the chosen candidate, or NULL */
	json_t *rounds; /* what was chosen in each round, for the result of the loop; or NULL */
	json_t *refusal;

	char *code; /* code of the last step */
	/* The number of the last step. If the step had several candidates, each of which has a
	 * number, this is the number of the chosen candidate. */
	unsigned number;
	unsigned n_interrupts; /* how often the running step was interrupted */
	bool is_unwanted;      /* the loop must end after the running step */
	/* no_images: images are not sent to the model. has_seen: the model has accepted images
	 * before. */
	bool no_images, has_seen;
	/* was_lost: the session's state was rebuilt and may differ. is_untold: the model has not
	 * been shown the result of the last step. */
	bool was_lost, is_untold;

	char *answer;
	/* bundle: the argument of final_answer(), or NULL. misses: the numbers of the answer
	 * that are not grounded; NULL if this was not checked. */
	json_t *bundle, *misses;
	bool was_sent_back, is_check_failed;

	bool is_last; /* a limit is reached: the next reply is the last */
	enum budget_kind spent;
	struct err err;
	unsigned n_steps, n_replies;
	unsigned last_number; /* highest number of a step, also of unchosen candidates */
	struct wire_usage usage;
	struct price price;
	double cost_usd;
	bool is_cost_partial; /* the price of some tokens is unknown, so cost_usd is too low */
	enum loop_end end;
	json_t *ended;	/* the result of the loop, from its end until `done` has received it */
	json_t *record; /* record of the step during which a resumed loop was interrupted */
};

/* ---- loop.c: events, requests to the model, the end ---- */

/* Send @event to the hook `event`, and release it. loop_tell_of() first marks it as an event of
 * the candidate at @place, unless @place is 0. */
void loop_tell(struct loop *l, json_t *event);
void loop_tell_of(struct loop *l, unsigned place, json_t *event);
/* Append a message from the loop to the model to the dialog. The text of the message is the member
 * `next` of @l, and its images are the member `images`. Then clear both members. If `next` is
 * empty, no message is appended. */
int loop_flush(struct loop *l);
/* Update the used time in the budget. */
void loop_note_time(struct loop *l);
uint64_t loop_wall_ms(const struct loop *l);
/* Send the message `next` to the model. May end the loop. */
void loop_ask(struct loop *l);
/* End the loop. The event loop then calls `done`, which may free @l. */
void loop_finish(struct loop *l, enum loop_end end);
/* End the loop because a limit is reached and the last reply is not an answer. */
void loop_give_up(struct loop *l);
/* End the loop with @err as its error. */
void loop_fail(struct loop *l, const struct err *err);
void loop_fail_memory(struct loop *l);
void loop_count_failure(struct loop *l); /* count a failed step in the budget */

/* ---- loop_reply.c: replies of the model ---- */

/* The callbacks of a request for one reply; `arg` is a struct reply_stream. */
extern const struct wire_watch loop_watch;
void reply_stream_reset(struct reply_stream *s);
/* Send an event with the text that no event has reported yet. */
void reply_stream_flush(struct reply_stream *s);
void loop_count_usage(struct loop *l, const struct reply *reply);
void loop_tell_message(struct loop *l, unsigned place, const struct whole_reply *reply,
	const struct wire_usage *usage);
/* Act on a complete reply: run its code, or judge its text as an answer. */
void loop_act(struct loop *l, const struct whole_reply *reply);
/* Continue after a failed request to the model: ask again with a shorter dialog or without
 * images, or end the loop. */
void loop_miss(struct loop *l, const struct failure *why);

/* ---- loop_step.c: steps ---- */

void loop_run(struct loop *l, const char *runtime, const char *code, size_t bytes);
void loop_tell_code(struct loop *l, unsigned place, unsigned number, const struct loop_code *code);
/* Continue the loop after a step, whose record is @record. */
void loop_stepped(struct loop *l, const json_t *record);

/* ---- loop_answer.c: judging answers ---- */

/* Decide whether the loop accepts @text as its answer. After a call of final_answer(), @bundle
 * is its argument and @code the code of the step; otherwise both are NULL. */
void loop_judge(struct loop *l, const char *text, const json_t *bundle, const char *code);
void loop_check(struct loop *l);
/* Continue the loop after the check of an answer, whose record is @record. */
void loop_checked(struct loop *l, const json_t *record);

/* ---- loop_resume.c: saving and resuming a loop ---- */

void loop_save(struct loop *l);
/* Restore a loop from @past. @task is the user's next message, or NULL. Errors: those of
 * loop_open() for a config with a past. */
int loop_resume(struct loop *l, const struct loop_past *past, const char *task, struct err *err);
/* Take the first action of a new or resumed loop. If the record of the interrupted step is
 * known, act on it. If an answer was being checked, check it again. Otherwise ask the model. */
void loop_continue(struct loop *l);

/* ---- loop_images.c: models that cannot read images ---- */

/* Remove all images from the dialog and the next message. Returns: how many the dialog had, or
 * -ENOMEM. */
int loop_drop_images(struct loop *l);
/* After a reply: if the dialog has images, note that the server accepts them. */
void loop_note_images(struct loop *l);
/* If the images may be the reason for the failure @why, remove them and ask again. Returns:
 * whether that was done. */
bool loop_ask_without_images(struct loop *l, const struct failure *why);

/* ---- loop_round.c, loop_candidate.c: several candidates for a step ---- */

int loop_round_ask(struct loop *l, const struct wire_request *q, unsigned n, struct err *err);
void loop_round_ran(struct loop *l, unsigned place, const json_t *record, const struct err *err);
/* Return whether all candidates still wait for the model. */
bool loop_round_is_asking(const struct loop *l);
/* Stop the code of all candidates and cancel their requests. The round is then concluded with
 * the candidates that are complete. */
void loop_round_stop(struct loop *l);
void loop_round_cancel(struct loop *l); /* cancel all requests to the model */
void loop_round_free(struct round *r);	/* @r may be NULL */
/* Return the member "candidates" of the loop's result, or NULL. */
json_t *loop_round_result(const struct loop *l);
