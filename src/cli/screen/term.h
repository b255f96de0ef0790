/* Properties of the terminal. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <termios.h>

/* When output has colours; in the order of TERM_COLOR_CHOICES. */
enum term_color { TERM_COLOR_AUTO, TERM_COLOR_ALWAYS, TERM_COLOR_NEVER };
#define TERM_COLOR_CHOICES "auto|always|never"

enum { TERM_COLUMNS = 80, TERM_COLUMNS_MIN = 20, TERM_COLUMNS_MAX = 1000 };

bool term_is(int fd);

/*
 * Return whether output to @fd has colours. For TERM_COLOR_AUTO it does if @fd is a terminal, TERM
 * is set and not "dumb", and NO_COLOR is unset or empty.
 * Source: no-color.org
 */
bool term_has_color(int fd, enum term_color when);

/* Return the width of output in columns: the variable COLUMNS, or else the width of the terminal
 * @fd, or else TERM_COLUMNS. */
int term_columns(int fd);

/*
 * Put the terminal @fd into line mode with echo, if we are in its foreground process group. @when:
 * TCSADRAIN, or TCSAFLUSH to drop what was typed before. *@before: set to the previous mode, for
 * tcsetattr().
 * Returns: whether the mode was changed.
 */
bool term_take_lines(int fd, int when, struct termios *before);
