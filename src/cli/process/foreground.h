/* Starts a program in a session and joins its streams to ours: what `retort exec` and
 * `retort run -- CMD` share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/opt.h"
#include "cli/host/client.h"
#include "cli/process/pump.h"
#include "cli/run.h"

#include <jansson.h>
#include <stdbool.h>

/* A program to be started. All pointers are borrowed. */
struct foreground_order {
	const struct process_args *args;
	const char *session;
	char *const *argv;	    /* NULL-terminated */
	const char *cwd, *name;	    /* or NULL */
	const struct opt_list *env; /* K=V, or K for the value that we have; or NULL */
	uint64_t timeout_ms;	    /* 0: no limit */
	int in_fd;		    /* what is read with args->input */
	bool is_detached;	    /* nobody reads its output now */
	bool keep_alive;
	bool is_tied;	/* it ends when our connection does, and is not listed then */
	bool is_own;	/* the engine ends with this command */
	bool is_silent; /* its output is not shown, but read at the end (foreground_add_output()) */
};

/* Check the options against our own streams. Errors: ERR_USAGE with a hint. */
int foreground_check(const struct process_args *args, int in_fd, struct err *err);

/* Build the parameters of process.start. Owns: the caller decrefs. Returns: NULL and @err on
 * failure. Errors: ERR_USAGE: a word is not UTF-8. */
json_t *foreground_params(const struct foreground_order *order, struct err *err);

/*
 * Start the program, and stay until its end.
 * @about: set to what the engine said at the end; NULL if the program did not run to its end.
 * Owns: the caller decrefs *@about.
 * Returns: the exit status of the command, or negative errno and @err, which is to be shown.
 */
int foreground_run(struct client *client, const struct foreground_order *order, json_t **about,
	struct err *err);

/* Show how @p has ended, close it, and return the exit status, as foreground_run() does. */
int foreground_end(struct pump *p, json_t **about, struct err *err);

/* Add the members "stdout" and "stderr" to @about: what the engine kept of the output. What is not
 * UTF-8 has U+FFFD in its place. "truncated" says how much is missing. */
int foreground_add_output(
	struct client *client, const char *session, json_t *about, struct err *err);

/* Say on stderr what ended the program, if it did not end by itself. */
void foreground_tell(const json_t *about, uint64_t timeout_ms);

/* Return the exit status for a process that has ended. */
int foreground_status(const json_t *about);

/* Report that a program could not be started, as cli_fail() does. Returns: the exit status, which
 * tells a program that cannot be executed from one that was not found. */
int foreground_fail(const struct err *err, bool json);
