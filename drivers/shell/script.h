/*
 * Run a script in a bash of its own, as `bash FILE ARGS` does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct script {
	const char *name;   /* $0 of the script, also the name in bash's messages */
	const json_t *argv; /* array: an unused element, then the script's arguments */
	const char *code;
	size_t code_bytes;
	const json_t *env; /* further environment variables: an object of texts, or NULL */
	int stdin_fd;	   /* -1: the driver's own */
	int signal_fd, channel_fd;
};

/*
 * Run the script. Blocks: until the script has ended.
 * Returns: its wait status; -ENOSPC when the disk has no space for it; another negative value when
 * it could not be started or the engine closed the channel.
 */
int script_run(const struct script *o);

/*
 * Let bash check @code for syntax errors. Blocks: at most CHECK_MS.
 * Returns: the number of the first line with an error (from 1), and bash's message in one line; 0
 * if no error was found.
 */
long script_check(const char *code, size_t code_bytes, char *message, size_t message_bytes);
