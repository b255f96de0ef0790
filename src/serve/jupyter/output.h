/* What a notebook shows of a step: its events and its record as outputs of a cell. Without effects,
 * and without a wire. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * An output is an object as a notebook file has it: {"output_type": "stream", "name", "text"},
 * "display_data", "execute_result" or "error" with their members. The content of a message of
 * Jupyter is the same object without "output_type", which is the message's type. Two types exist in
 * messages only: "update_display_data", which replaces an earlier display, and "clear_output".
 *
 * Text is held back for a moment, because of two things that only become known later:
 * - At the end of a failed step the driver writes the traceback to stderr. A notebook shows the
 *   traceback in the output "error", and must not show it twice.
 * - When a program asks for input, the last line of stdout is the question. A notebook shows it
 *   beside the field for the answer.
 * So the caller releases text that was held for some time with cell_output_release().
 */
enum { CELL_HELD_BYTES = 2 << 20, CELL_CHUNK_BYTES = 64 << 10, CELL_PROMPT_BYTES = 4096 };

struct cell_output {
	/* The name of the cell in tracebacks, which is the parameter `filename` of step.run without
	 * its brackets; borrowed. */
	const char *name;
	int64_t count;	   /* the number of the cell: execution_count */
	bool has_no_value; /* leave out the value of the last expression */
	bool is_whole;	   /* keep all media types, also those that notebooks do not show */
	struct buf out, err;
	size_t n_told[2], n_displays; /* bytes of stdout and stderr, and displays, of events */
};

#define CELL_OUTPUT_INIT                                                                           \
	((struct cell_output){.out = BUF_INIT(CELL_HELD_BYTES), .err = BUF_INIT(CELL_HELD_BYTES)})
void cell_output_done(struct cell_output *o);

/* Begin a cell. @name is borrowed until the next one. */
void cell_output_begin(struct cell_output *o, const char *name, int64_t count);

/*
 * Each function returns an array with the outputs that can be shown now, which may be empty.
 * Owns:    the caller decrefs the result.
 * Returns: NULL if memory is exhausted.
 *
 * cell_output_event() takes an event of the step (api/text/event.h). Events that show nothing are
 * ignored. cell_output_ask() is for the event "stdin", and appends the question to @prompt.
 * cell_output_release() releases text that was held back, but not what may be a traceback unless
 * @is_all. cell_output_end() takes the record and returns the rest, with the value or the error as
 * the last output: what was in no event, so all if there were no events.
 */
json_t *cell_output_event(struct cell_output *o, const json_t *event);
json_t *cell_output_ask(struct cell_output *o, struct buf *prompt);
json_t *cell_output_release(struct cell_output *o, bool is_all);
json_t *cell_output_end(struct cell_output *o, const json_t *record);

/* For a step that could not read input: if @outputs end with the error of a program that tried to,
 * say why. */
void cell_output_add_no_input(json_t *outputs);

/* Return whether text is held back. */
bool cell_output_holds(const struct cell_output *o);

/* Make the output "error" of a step that has no record, because the operation failed. Owns: the
 * caller decrefs. */
json_t *cell_output_failure(const struct err *err);
