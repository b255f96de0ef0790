/* Properties of the terminal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <termios.h>

/* When output has colours, in the order of TERM_COLOR_CHOICES. */
enum term_color { TERM_COLOR_AUTO, TERM_COLOR_ALWAYS, TERM_COLOR_NEVER };
#define TERM_COLOR_CHOICES "auto|always|never"

enum { TERM_COLUMNS = 80, TERM_COLUMNS_MIN = 20, TERM_COLUMNS_MAX = 1000 };

bool term_is(int fd);

/*
 * May output to @fd have colours? TERM_COLOR_AUTO: only on a terminal other than "dumb", and only
 * if NO_COLOR is unset or empty.
 * Source:  no-color.org
 */
bool term_has_color(int fd, enum term_color when);

/* Return the width in columns: COLUMNS of the environment, else the terminal's width, else
 * TERM_COLUMNS. */
int term_columns(int fd);

/*
 * Put the terminal @fd into line mode with echo, if we are its foreground process. @when:
 * TCSADRAIN, or TCSAFLUSH, which drops earlier input.
 * Returns: whether the mode was changed; tcsetattr() with *@before restores it.
 */
bool term_take_lines(int fd, int when, struct termios *before);
