/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/term.h"

#include "base/num.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool term_is(int fd)
{
	return isatty(fd) == 1;
}

bool term_has_color(int fd, enum term_color when)
{
	const char *no_color = getenv("NO_COLOR"), *kind = getenv("TERM");
	switch (when) {
	case TERM_COLOR_ALWAYS:
		return true;
	case TERM_COLOR_NEVER:
		return false;
	case TERM_COLOR_AUTO:
		break;
	}
	if (no_color && *no_color)
		return false;
	return term_is(fd) && kind && *kind && strcmp(kind, "dumb") != 0;
}

int term_columns(int fd)
{
	struct num_range range = {TERM_COLUMNS_MIN, TERM_COLUMNS_MAX};
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t columns;
	struct err err;
	if (text && num_parse_count(text, range, &columns, &err) == 0)
		return (int)columns;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= TERM_COLUMNS_MIN)
		return size.ws_col < TERM_COLUMNS_MAX ? size.ws_col : TERM_COLUMNS_MAX;
	return TERM_COLUMNS;
}

bool term_take_lines(int fd, int when, struct termios *before)
{
	struct termios lines;
	if (tcgetpgrp(fd) != getpgrp() || tcgetattr(fd, before) < 0)
		return false;
	lines = *before;
	lines.c_lflag |= ICANON | ECHO;
	return tcsetattr(fd, when, &lines) == 0;
}
