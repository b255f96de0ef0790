/* One run of the program retort-files in a session's box, for a call of an operation path.*.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/call/inside.h"
#include "api/operation/calls.h"
#include "base/buf.h"

enum {
	PATH_ATTRIBUTES_MAX = 64,
	PATH_ARGS_MAX = 16 + 2 * PATH_ATTRIBUTES_MAX,
	PATH_NUMBERS_MAX = 4
};

/* The arguments of the program, NULL-terminated, and its input. What they point to must live until
 * the call is answered: it is in the call's parameters, or here. */
struct path_args {
	const char *argv[PATH_ARGS_MAX + 1];
	size_t n;
	char paths[2][PATH_BYTES + 1];
	char numbers[PATH_NUMBERS_MAX][24];
	unsigned n_paths, n_numbers;
	const char *input; /* NULL: stdin is empty */
	size_t input_bytes;
	struct buf decoded;
};

/* Append an argument: a text, a path of the call's parameters, or a number. Errors: those of
 * path_clean(). */
void path_add(struct path_args *args, const char *text);
int path_add_path(struct path_args *args, const json_t *params, const char *name, struct err *err);
void path_add_number(struct path_args *args, int64_t number);

/*
 * What becomes of the output.
 * PATH_ANSWER  lines of JSON, at most 16 MiB, of which `answer` makes the result
 * PATH_CONTENT bytes, which are sent as events `content`; the result is the entry of the file
 * PATH_EVENTS  lines of JSON, which are sent as events until the call is cancelled
 */
enum path_output { PATH_ANSWER, PATH_CONTENT, PATH_EVENTS };

struct path_use {
	enum path_output output;
	/* Add the arguments. Errors, which are the call's: ERR_USAGE, ERR_LIMIT. */
	int (*prepare)(struct path_args *args, const json_t *params, struct err *err);
	/* Make the result of the lines. Returns: a new object; NULL if they are wrong. */
	json_t *(*answer)(const char *lines, size_t bytes);
};

/* Run the program when the session has a box, and answer the call. A cancelled call ends the
 * program. */
void path_run(struct operation_call *call, const struct path_use *use);
