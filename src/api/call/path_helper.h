/* One run of the program retort-files in a session's box, for a call of an operation path.*.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/call/inside.h"
#include "api/call/path_args.h"
#include "api/operation/calls.h"

/*
 * What becomes of the output.
 * PATH_ANSWER  lines of JSON, at most 16 MiB, of which `answer` makes the result
 * PATH_CONTENT bytes, which are sent as events `content`; the result is the entry of the file
 * PATH_EVENTS  lines of JSON, which are sent as events until the call is cancelled or `timeout_ms`
 * are over
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
