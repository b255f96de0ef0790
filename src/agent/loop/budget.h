/* The budget of a loop: limits, and how much was used. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
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
#define BUDGET_UNITS_PER_USD 1e9 /* units of BUDGET_COST for one US dollar */

struct budget {
	uint64_t limit[BUDGET_KINDS]; /* the limits; 0: no limit */
	uint64_t used[BUDGET_KINDS];  /* the use so far; for BUDGET_FAILURES, the failures since the
					 last success */
	bool is_warned[BUDGET_KINDS];
};

/* Return a budget with the default limits. */
struct budget budget_default(void);

/* Return the name of a limit: "steps", "wall_ms", "tokens", "cost_usd", "failures". */
const char *budget_word(enum budget_kind kind);

/* Return the first limit that is used up, or BUDGET_NONE. */
enum budget_kind budget_spent(const struct budget *b);

/* Return a limit whose use has passed BUDGET_WARNING_PCT, or BUDGET_NONE. Each limit is returned
 * once. */
enum budget_kind budget_warning(struct budget *b);

/* Append the rest of every limit that is set: "17 of 20 steps left, 402 s left". */
void budget_show(const struct budget *b, struct buf *out);
