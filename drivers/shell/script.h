/* A script run once, as `bash FILE ARGS` does. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct script {
	const char *name;   /* its $0, and how bash calls it in messages */
	const json_t *argv; /* from the second on, its arguments */
	const char *code;
	size_t code_bytes;
	int signal_fd, channel_fd;
};

/*
 * Run a script in a bash of its own.
 * Blocks:  until it has ended.
 * Returns: its wait status, -1 when it could not be started or the engine is gone.
 */
int script_run(const struct script *o);

/*
 * Ask bash whether @code has a syntax error.
 * Blocks:  at most CHECK_MS.
 * Returns: its line (from 1) and the message (one line), or 0.
 */
long script_check(const char *code, size_t code_bytes, char *message, size_t message_bytes);
