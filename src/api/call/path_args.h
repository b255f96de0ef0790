/* The arguments of a run of retort-files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/call/inside.h"
#include "api/call/path_message.h"
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
