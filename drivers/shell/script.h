/* A script run in a bash of its own, as by `bash FILE ARGS`. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct script {
	const char *name;   /* $0, and the name in bash's messages */
	const json_t *argv; /* the arguments, from the second element on */
	const char *code;
	size_t code_bytes;
	int signal_fd, channel_fd;
};

/*
 * Run the script. Blocks: until it has ended.
 * Returns: its wait status; -1 when it could not be started or the engine is gone.
 */
int script_run(const struct script *o);

/*
 * Let bash check @code for syntax errors. Blocks: at most CHECK_MS.
 * Returns: the line of an error (from 1), with the message in one line; 0 if there is none.
 */
long script_check(const char *code, size_t code_bytes, char *message, size_t message_bytes);
