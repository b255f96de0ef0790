/* The same code with the same end. SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/stuck.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

static unsigned note(struct stuck *s, const char *code, const char *end)
{
	return stuck_note(s, code, strlen(code), end);
}

TEST(repeats_are_counted)
{
	struct stuck s = {.n = 0};
	for (unsigned i = 1; i <= STUCK_STOP; i++)
		CHECK_INT(note(&s, "1 / 0", "ZeroDivisionError"), i);
	CHECK_INT(note(&s, "1 / 0", "another end"), 1);
	CHECK_INT(note(&s, "1 / 1", "ZeroDivisionError"), 1);
}

TEST(blanks_and_comments_do_not_count)
{
	static const char *const same[] = {"f(1)\ng()", "f( 1 )\n\n  g()",
		"f(1) # once more\ng()\n", "# try\nf(1)\ng() // again"};
	static const char *const other[] = {
		"f(2)\ng()", "f('# 1')\ng()", "f('# 2')\ng()", "f(1)", "f(\"//\")", ""};
	struct stuck s = {.n = 0};
	for (unsigned i = 0; i < ARRAY_LEN(same); i++)
		CHECK_INT(note(&s, same[i], "e"), i + 1);
	for (unsigned i = 0; i < ARRAY_LEN(other); i++)
		CHECK_INT(note(&s, other[i], "e"), 1);
}

TEST(what_is_long_ago_is_forgotten)
{
	struct stuck s = {.n = 0};
	char code[32];
	CHECK_INT(note(&s, "first", "e"), 1);
	for (int i = 0; i < STUCK_SEEN_MAX; i++) {
		snprintf(code, sizeof code, "x = %d", i);
		CHECK_INT(note(&s, code, "e"), 1);
	}
	CHECK_INT(note(&s, "first", "e"), 1);
	CHECK_INT(note(&s, code, "e"), 2);
}
