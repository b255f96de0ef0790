/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/budget.h"

#include <inttypes.h>

static const struct {
	const char *word, *what;
	uint64_t fallback;
} rows[BUDGET_KINDS] = {
#define X(symbol, word, what, fallback) {#word, what, fallback},
#include "agent/loop/budget.def"
#undef X
};

struct budget budget_default(void)
{
	struct budget b = {{0}};
	for (int i = 0; i < BUDGET_KINDS; i++)
		b.limit[i] = rows[i].fallback;
	return b;
}

const char *budget_word(enum budget_kind kind)
{
	return kind < BUDGET_KINDS ? rows[kind].word : "none";
}

enum budget_kind budget_spent(const struct budget *b)
{
	int kind = 0;
	while (kind < BUDGET_KINDS && (b->limit[kind] == 0 || b->used[kind] < b->limit[kind]))
		kind++;
	return (enum budget_kind)kind;
}

enum budget_kind budget_warning(struct budget *b)
{
	for (int i = 0; i < BUDGET_KINDS; i++) {
		uint64_t limit = b->limit[i];
		/* Failures need no warning, because the model sees each error. */
		if (i == BUDGET_FAILURES || limit == 0 || b->is_warned[i] ||
			b->used[i] < limit / 100 * BUDGET_WARNING_PCT +
					limit % 100 * BUDGET_WARNING_PCT / 100)
			continue;
		b->is_warned[i] = true;
		return (enum budget_kind)i;
	}
	return BUDGET_NONE;
}

void budget_show(const struct budget *b, struct buf *out)
{
	const char *between = "";
	for (int i = 0; i < BUDGET_FAILURES; i++) {
		uint64_t limit = b->limit[i], used = b->used[i];
		uint64_t left = used < limit ? limit - used : 0;
		if (limit == 0)
			continue;
		if (i == BUDGET_WALL)
			buf_addf(out, "%s%" PRIu64 " s left", between, left / 1000);
		else if (i == BUDGET_COST)
			buf_addf(out, "%s%.4f of %.4f USD left", between,
				(double)left / BUDGET_UNITS_PER_USD,
				(double)limit / BUDGET_UNITS_PER_USD);
		else
			buf_addf(out, "%s%" PRIu64 " of %" PRIu64 " %s left", between, left, limit,
				rows[i].what);
		between = ", ";
	}
}
