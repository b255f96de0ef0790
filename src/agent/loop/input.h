/* Long inputs: files of a box that become variables. The model is told only how long they are. No
 * system call. SPDX-License-Identifier: Apache-2.0 */
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
	const char *name, *path; /* of the variable; in the box. Borrowed */
	uint64_t characters, lines, bytes;
};

struct inputs {
	struct input list[INPUTS_MAX];
	size_t n;
};

/* Can it name a variable both in Python and in JavaScript? Keywords and names that retort uses
 * itself cannot. */
bool input_is_name(const char *name);

/*
 * Read [{"name", "path"}]; NULL is an empty list. Texts stay the array's.
 * Errors:  ERR_USAGE: an invalid name, or the same name twice; ERR_LIMIT: over INPUTS_MAX.
 */
int inputs_read(struct inputs *out, const json_t *array, struct err *err);

/* The language that holds the variables: "javascript" if @runtime is that, else "python". */
const char *inputs_runtime(const char *runtime);

/* Code in inputs_runtime() that makes the variables; its value is their lengths.
 * Returns: 0, -E2BIG, -ENOMEM. */
int inputs_code(const struct inputs *in, const char *runtime, struct buf *out);

/*
 * Read the lengths from the record of that code.
 * Errors:  ERR_USAGE: a file cannot be read; ERR_LIMIT: it does not fit; ERR_BOX.
 */
int inputs_take(struct inputs *in, const json_t *record, struct err *err);

/* {"event": "input", "name", "path", "characters", "lines", "bytes"}. Owns: the caller. */
json_t *input_event(const struct input *in);

/* The paragraph that tells the model of them; empty without inputs. Returns: 0, -E2BIG, -ENOMEM. */
int inputs_show(const struct inputs *in, const char *runtime, struct buf *out);
