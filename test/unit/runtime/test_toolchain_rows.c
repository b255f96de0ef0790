/* Which of several rows of a language is found: with a table of the test's own, as the directory of
 * this file comes before src. SPDX-License-Identifier: Apache-2.0 */
#include "../src/runtime/toolchain.c"

#include "t.h"

static const char *found(const char *word)
{
	const struct toolchain *t = toolchain_find(word);
	return t ? t->source : "";
}

TEST(the_first_row_that_the_host_can_run)
{
	CHECK_INT(toolchain_count(), 9);
	CHECK_STR(found("two"), "b.x");
	CHECK_STR(found("Second"), "b.x");
	CHECK_STR(found("free"), "a.x");
}

TEST(the_first_row_if_the_host_can_run_none)
{
	CHECK_STR(found("gone"), "a.x");
	CHECK_STR(found("AWAY"), "a.x");
}

TEST(rows_with_a_word_in_common)
{
	CHECK_STR(found("word"), "b.x");
	CHECK_STR(found("late"), "a.x");
}
