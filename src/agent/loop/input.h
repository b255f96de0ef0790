/* Long inputs of a task. Each input is a file in the box, whose content becomes a variable in the
 * session. The model is not shown this content. It is told only the variable, the length and the
 * path of each input. Makes no system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	INPUTS_MAX = 16,
	INPUT_NAME_BYTES = 64,
	INPUT_PATH_BYTES = 255,
	INPUTS_TEXT_BYTES = 64 << 10
};

struct input {
	/* The name of the variable, and the path of the file in the box. Borrowed. */
	const char *name, *path;
	uint64_t characters, lines, bytes;
};

struct inputs {
	struct input list[INPUTS_MAX];
	size_t n;
};

/* Return whether @name can be a variable in Python and in JavaScript, and is not used by retort
 * itself. */
bool input_is_name(const char *name);

/*
 * Read [{"name", "path"}]; NULL means an empty list. The texts in @out are borrowed from @array.
 * Errors:  ERR_USAGE: a name is invalid or occurs twice; ERR_LIMIT: more than INPUTS_MAX inputs, or
 * a path is too long.
 */
int inputs_read(struct inputs *out, const json_t *array, struct err *err);

/* Return the language in which the inputs are variables: "javascript" if @runtime is
 * "javascript", otherwise "python". */
const char *inputs_runtime(const char *runtime);

/*
 * Append code in the language inputs_runtime() that reads the files into variables. The value of
 * this code is an array with one element for each input: [bytes, characters, lines].
 * Returns: 0, -E2BIG, -ENOMEM.
 */
int inputs_code(const struct inputs *in, const char *runtime, struct buf *out);

/*
 * Set the members `characters`, `lines` and `bytes` of each input in @in. @record is the record of
 * the step that ran the code of inputs_code().
 * Errors:  ERR_USAGE: a file cannot be read, or the code failed for another reason; ERR_LIMIT: the
 * box has not enough memory; ERR_BOX: the record does not have the lengths of all inputs.
 */
int inputs_take(struct inputs *in, const json_t *record, struct err *err);

/* Return the event {"event": "input", "name", "path", "characters", "lines", "bytes"}. Owns: the
 * caller. */
json_t *input_event(const struct input *in);

/* Append to @out a paragraph of the prompt. For each input, the paragraph tells the model the name
 * of the variable, the number of characters and lines, and the path of the file. If @in is empty,
 * append nothing. Returns: 0, -E2BIG, -ENOMEM. */
int inputs_show(const struct inputs *in, const char *runtime, struct buf *out);
