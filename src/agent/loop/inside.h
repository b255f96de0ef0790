/* What the files of the loop share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/answer/answer.h"
#include "agent/answer/criterion.h"
#include "agent/loop/dialog.h"
#include "agent/loop/loop.h"
#include "agent/loop/loop_hearing.h"
#include "agent/loop/loop_turn.h"
#include "agent/loop/stuck.h"

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
	uint64_t budget_before_ms, earlier_ms; /* used before it went on; of the budget, of all */
	uv_timer_t timer;		       /* of the wall limit; then of the last answer */

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

	char *code;		  /* of the step that runs */
	unsigned number;	  /* of that step */
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
	unsigned last_number; /* of a step, be it only a candidate's */
	struct wire_usage usage;
	struct price price;
	double cost_usd;
	bool is_cost_partial; /* not all that was spent had a price */
	enum loop_end end;
	json_t *ended;	/* the result, until it is told */
	json_t *record; /* of the step that ran when it was kept; until it goes on */
};
