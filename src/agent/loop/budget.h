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
#define BUDGET_UNITS_PER_USD 1e9 /* of BUDGET_COST */

struct budget {
	uint64_t limit[BUDGET_KINDS]; /* 0: no limit */
	uint64_t used[BUDGET_KINDS];  /* FAILURES: those since the last success */
	bool is_warned[BUDGET_KINDS];
};

/* The defaults. */
struct budget budget_default(void);

/* "steps", "wall_ms", "tokens", "cost_usd", "failures". */
const char *budget_word(enum budget_kind kind);

/* The first that is used up; BUDGET_NONE. */
enum budget_kind budget_spent(const struct budget *b);

/* One that has passed BUDGET_WARNING_PCT since the last call; each is told once. BUDGET_NONE. */
enum budget_kind budget_warning(struct budget *b);

/* "17 of 20 steps left, 402 s left": those that have a limit. */
void budget_show(const struct budget *b, struct buf *out);
