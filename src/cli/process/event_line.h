/* Takes the output of a program out of the line of an event, faster than a parser of JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* An event that announces raw output. */
struct event_raw {
	bool is_stderr;
	uint64_t cut_bytes; /* lost before it */
	uint64_t bytes;	    /* of output behind the line */
};

/* Return whether @line is an event with raw output, and set @out. If not, parse the line. Shape: as
 * for event_line_cut(). */
bool event_line_raw(const char *line, size_t bytes, struct event_raw *out);

/*
 * If @line is an event with a member "data", append the text of that member to @data, and the line
 * with an empty text in its place to @rest.
 * Shape: JSON as the engine writes it, in one line and without blanks.
 * Returns: whether it was such a line. If not, @data and @rest are not to be used: parse the line.
 */
bool event_line_cut(const char *line, size_t bytes, struct buf *data, struct buf *rest);
