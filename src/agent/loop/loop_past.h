/* What a loop goes on from, that was interrupted or came to its end. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/loop/budget.h"

#include "base/err.h"

#include <jansson.h>

/* Borrowed for loop_open(). The task of the config is what is said next; NULL: nothing. */
struct loop_past {
	const json_t *state;  /* what was kept last */
	const json_t *record; /* of the step that ran then, when it is known by now; or NULL */
	const char *remark;   /* what became of the session meanwhile, a sentence; or NULL */
	/* Limits that are given anew: what was used of them before does not count any more. */
	bool is_given[BUDGET_KINDS];
};

struct loop;

/* loop_open() of a past. Errors: those of loop_restore(); ERR_USAGE: it has its answer, and there
 * is no task. */
int loop_resume(struct loop *l, const struct loop_past *past, const char *task, struct err *err);

/* When its event loop runs: instead of the first question. */
void loop_go_on(struct loop *l);
