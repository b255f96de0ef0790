/* Long inputs: files of a box that become variables. The model sees only their lengths. No system
 * call. SPDX-License-Identifier: Apache-2.0 */
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
	const char *name, *path; /* the variable's name; the file's path in the box. Borrowed */
	uint64_t characters, lines, bytes;
};

struct inputs {
	struct input list[INPUTS_MAX];
	size_t n;
};

/* Is @name valid as a variable both in Python and in JavaScript? Keywords and names that retort
 * uses itself are not. */
bool input_is_name(const char *name);

/*
 * Read [{"name", "path"}]; NULL is an empty list. The texts in @out are borrowed from @array.
 * Errors:  ERR_USAGE: an invalid name, or the same name twice; ERR_LIMIT: over INPUTS_MAX.
 */
int inputs_read(struct inputs *out, const json_t *array, struct err *err);

/* Return the language whose variables hold the inputs: "javascript" if @runtime is "javascript",
 * otherwise "python". */
const char *inputs_runtime(const char *runtime);

/* Append code in inputs_runtime() that sets the variables; the code's value is their lengths.
 * Returns: 0, -E2BIG, -ENOMEM. */
int inputs_code(const struct inputs *in, const char *runtime, struct buf *out);

/*
 * Read the lengths from the record of the code that inputs_code() wrote.
 * Errors:  ERR_USAGE: a file cannot be read; ERR_LIMIT: it does not fit; ERR_BOX.
 */
int inputs_take(struct inputs *in, const json_t *record, struct err *err);

/* Return the event {"event": "input", "name", "path", "characters", "lines", "bytes"}. Owns: the
 * caller. */
json_t *input_event(const struct input *in);

/* Append the paragraph that describes the inputs to the model; nothing without inputs. Returns: 0,
 * -E2BIG, -ENOMEM. */
int inputs_show(const struct inputs *in, const char *runtime, struct buf *out);
