/* What goes to the program retort-files and comes from it: paths, entries, events and errors. All
 * that comes was written in a box, so nothing else than what these functions know gets further.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/call/inside.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Maximum of one line of the program, and of the entries of a list. */
enum { PATH_LINE_BYTES = 256 << 10, PATH_ENTRIES_MAX = 10000 };

/*
 * Make a path of the box absolute: "a" is in the workspace, "~" is the workspace, "." and ".." and
 * repeated slashes are resolved in the text.
 * Errors: ERR_USAGE, it becomes too long.
 */
int path_clean(const char *path, char out[PATH_BYTES + 1], struct err *err);

/* Parse a line of the program as an object. Returns: a new object; NULL if it is none. */
json_t *path_line(const char *line, size_t bytes);

/* Make a checked entry of what the program says about a file. Returns: a new object; NULL if it is
 * wrong. */
json_t *path_entry(const json_t *said);

/* Make a checked event of path.watch. Returns: a new object; NULL if it is wrong. */
json_t *path_event(const json_t *said);

/* Read the error that the program has written to stderr. Returns: false if there is none. */
bool path_error(const char *line, size_t bytes, struct err *err);
