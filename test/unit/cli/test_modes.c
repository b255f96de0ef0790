/* What a program has switched on at our terminal, and how it is left. SPDX-License-Identifier:
 * Apache-2.0 */
#include "cli/process/modes.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

/* Read @text in pieces of @step bytes. Returns: what leaves its modes, with "^" for ESC. */
static const char *leave(const char *text, size_t step, bool is_cut)
{
	static char shown[MODES_UNDO_BYTES + 1];
	struct modes m = {0};
	size_t bytes = strlen(text);
	for (size_t at = 0; at < bytes; at += step)
		modes_read(&m, text + at, MIN(step, bytes - at));
	shown[modes_undo(&m, is_cut, shown)] = '\0';
	for (char *at = shown; *at; at++)
		*at = *at == '\33' ? '^' : *at == '\30' ? '!' : *at;
	return shown;
}

TEST(what_is_on_is_left)
{
	static const struct {
		const char *text, *undo;
	} rows[] = {
		{"", ""},
		{"plain [?1049h text", ""},
		{"\33[?1049h", "^[?1049l"},
		{"\33[?1049h\33[?1049l", ""},
		{"\33[?1049;25h\33[?25l", "^[?25h^[?1049l"},
		{"\33[?25h\33[?7h", ""},
		{"\33[?7l", "^[?7h"},
		{"\33[?1h\33=\33[?2004h\33[?1000;1002;1006h",
			"^>^[?1l^[?1000l^[?1002l^[?1006l^[?2004l"},
		{"\33[?1h\33=\33>\33[?1l", ""},
		{"\33[?47h\33[?1047h", "^[?47l^[?1047l"},
		{"\33[?12h\33[?2026h\33[4h\33[1049h", ""},
		{"\33[1;31mred", "^[m"},
		{"\33[1;31mred\33[0m", ""},
		{"\33[1;31mred\33[m", ""},
		{"\33[>4;2m", "^[>4;0m"},
		{"\33[>4;2m\33[>4m", ""},
		{"\33[5 q", "^[0 q"},
		{"\33[>1u", "^[<u"},
		{"\33[?1049h\33c", ""},
		/* neither of these is a reset or a keypad */
		{"\33[?25l\33(c", "^[?25h"},
		{"\33(=", ""},
		/* controls within a sequence, and sequences that are given up */
		{"\33[?10\n49h", "^[?1049l"},
		{"\33[?10\30"
		 "49h",
			""},
		{"\33[?10\33[?25l", "^[?25h"},
		{"\33[?1049\303\244h", ""},
		/* numbers of any size, and any number of them */
		{"\33[?42949682009h\33[?4294968345h", ""},
		{"\33[?0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;25;1049l\33[?0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1049h",
			"^[?25h"},
		/* in the middle of a sequence */
		{"\33[?1049h\33[?10", "!^[?1049l"},
		{"\33", "!"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t step = 1; step < 9; step++)
			if (!CHECK_STR(leave(rows[i].text, step, false), rows[i].undo))
				printf("# row %zu, step %zu\n", i, step);
}

/* The terminal may not have got the end of a mode that it has got the beginning of. */
TEST(what_was_cut_may_still_be_on)
{
	CHECK_STR(leave("\33[?1049h\33[?25l\33[?25h\33[?1049l", 1, true), "!^[?25h^[?1049l");
}
