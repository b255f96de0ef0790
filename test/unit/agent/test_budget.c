/* What is used up, and when that is said. SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/budget.h"

#include "t.h"

TEST(each_can_be_used_up)
{
	for (int i = 0; i < BUDGET_KINDS; i++) {
		struct budget b = budget_default();
		b.limit[i] = 10;
		b.used[i] = 9;
		CHECK_INT(budget_spent(&b), BUDGET_NONE);
		b.used[i] = 10;
		CHECK_INT(budget_spent(&b), i);
		b.limit[i] = 0;
		CHECK_INT(budget_spent(&b), BUDGET_NONE);
	}
}

TEST(a_warning_comes_once)
{
	struct budget b = budget_default();
	CHECK_INT(b.limit[BUDGET_STEPS], 20);
	b.used[BUDGET_STEPS] = 15;
	CHECK_INT(budget_warning(&b), BUDGET_NONE);
	b.used[BUDGET_STEPS] = 16;
	CHECK_INT(budget_warning(&b), BUDGET_STEPS);
	CHECK_INT(budget_warning(&b), BUDGET_NONE);
	b.used[BUDGET_WALL] = UINT64_MAX;
	CHECK_INT(budget_warning(&b), BUDGET_WALL);
	b.limit[BUDGET_TOKENS] = UINT64_MAX;
	b.used[BUDGET_TOKENS] = UINT64_MAX / 2;
	CHECK_INT(budget_warning(&b), BUDGET_NONE);
}

TEST(what_is_left_is_shown)
{
	struct budget b = budget_default();
	cleanup_buf struct buf out = BUF_INIT(1000);
	b.used[BUDGET_STEPS] = 3;
	b.used[BUDGET_WALL] = 601000;
	budget_show(&b, &out);
	CHECK_STR(buf_str(&out), "17 of 20 steps left, 0 s left");
	buf_clear(&out);
	b.limit[BUDGET_TOKENS] = 500;
	b.limit[BUDGET_WALL] = 0;
	budget_show(&b, &out);
	CHECK_STR(buf_str(&out), "17 of 20 steps left, 500 of 500 tokens left");
}

TEST(words)
{
	CHECK_STR(budget_word(BUDGET_WALL), "wall_ms");
	CHECK_STR(budget_word(BUDGET_NONE), "none");
}
