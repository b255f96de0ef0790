/* The budget of a loop: its limits, and how much of each is used. Makes no system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum budget_kind {
#define X(symbol, word, what, fallback) BUDGET_##symbol,
#include "agent/loop/budget.def"
#undef X
	BUDGET_KINDS,
	BUDGET_NONE = BUDGET_KINDS
};

enum { BUDGET_WARNING_PCT = 80 };
#define BUDGET_UNITS_PER_USD 1e9 /* amounts of BUDGET_COST are in units of 1e-9 US dollars */

struct budget {
	uint64_t limit[BUDGET_KINDS]; /* 0 means unlimited */
	/* How much of each limit is used. For BUDGET_FAILURES, this is the number of failures
	 * since the last successful step. */
	uint64_t used[BUDGET_KINDS];
	bool is_warned[BUDGET_KINDS];
};

/* Return a budget with the default limits. */
struct budget budget_default(void);

/* Return the word for a limit: "steps", "wall_ms", "tokens", "cost_usd", "failures". */
const char *budget_word(enum budget_kind kind);

/* Return the first limit that is used up, or BUDGET_NONE. */
enum budget_kind budget_spent(const struct budget *b);

/* Return a limit of which at least BUDGET_WARNING_PCT percent are used, or BUDGET_NONE. Each
 * limit is returned only once, and BUDGET_FAILURES never. */
enum budget_kind budget_warning(struct budget *b);

/* Append what is left of every limit that is set, except BUDGET_FAILURES: "17 of 20 steps left,
 * 402 s left". */
void budget_show(const struct budget *b, struct buf *out);
